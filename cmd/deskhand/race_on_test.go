//go:build race

package main

// raced says that this binary is checked for races, which makes a build some
// six times slower.
const raced = true
