package match

// Pattern matches a command line.
type Pattern struct {
	Text string // as written in the rules file
}
