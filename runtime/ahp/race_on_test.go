//go:build race

package ahp_test

// raceEnabled says that the race detector is on, with which the store takes ten times
// as long.
const raceEnabled = true
