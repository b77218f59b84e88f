package platform

// Usage is what a report shows of a chosen process: never identity, never a
// reason. Fields that cannot be read are zero.
type Usage struct {
	RSS  uint64 // resident bytes
	Swap uint64 // swapped bytes
	User string // name of the effective user, or its number where it has none
}
