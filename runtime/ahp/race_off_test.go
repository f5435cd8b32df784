//go:build !race

package ahp_test

const raceEnabled = false
