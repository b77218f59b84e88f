//go:build linux && !race

package test

const raceEnabled = false
