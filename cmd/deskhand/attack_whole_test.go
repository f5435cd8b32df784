package main

import "os"

// wholeAttack says that every combination is to be tried, as `make attack` does.
// A run of all tests takes a sample of those that are alike.
func wholeAttack() bool { return os.Getenv("ATTACK") != "" }

// some returns how often an attack repeats something: n times, or a quarter of that
// in an ordinary run of the tests.
func some(n int) int {
	if wholeAttack() {
		return n
	}
	return n / 4
}
