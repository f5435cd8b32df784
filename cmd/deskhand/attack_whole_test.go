package main

import "os"

// wholeAttack says that every combination is to be tried, as `make attack` does.
// A run of all tests takes a sample of those that are alike.
func wholeAttack() bool { return os.Getenv("ATTACK") != "" }
