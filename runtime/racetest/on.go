//go:build race

package racetest

// On reports whether this test binary was built with the race detector, which
// makes code about six times slower.
const On = true
