//go:build !race

package elicit_test

const raceEnabled = false
