// Gopsutil reads the process table as a sweeper written with that library does:
// the parent, start, command line and environment of each process. It prints how
// many there are and how many have an entry that begins with its argument, NAME=.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/process"
)

func main() {
	processes, err := process.Processes()
	if err != nil || len(os.Args) < 2 {
		panic(fmt.Sprint("no process table, or no argument: ", err))
	}
	found := 0
	for _, p := range processes {
		p.Ppid()
		p.CreateTime()
		p.Cmdline()
		environ, _ := p.Environ()
		if slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, os.Args[1]) }) {
			found++
		}
	}
	fmt.Println(len(processes), found)
}
