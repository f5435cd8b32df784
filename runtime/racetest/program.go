// Package racetest keeps the race detector's cost out of what it cannot check:
// the programs that a test starts, and repetitions on one goroutine.
package racetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Main runs a package's tests, with [Program] ready. TestMain calls it with the
// function that runs the tests.
//
// If the race detector is on, Program is the package's tests built again without
// it, unless CHECK_PROGRAM is set: a process takes six times as long with the
// detector, and a race in it would be reported where no test looks.
func Main(run func() int) int {
	if !On || os.Getenv("CHECK_PROGRAM") != "" {
		return run()
	}
	dir, err := os.MkdirTemp("", "racetest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, filepath.Base(os.Args[0]))
	build := exec.Command("go", "test", "-c", "-o", program, ".") // in the package's folder, where its tests run
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build these tests without the race detector: %v\n%s", err, out)
		return 1
	}
	return run()
}

var program = os.Args[0]

// Program returns the path of the test binary to start as another process.
func Program() string { return program }

// Times returns how often a test repeats something on one goroutine: n times, or
// a tenth of that if the race detector, which has nothing to find there, is on.
func Times(n int) int {
	if On {
		return max(1, n/10)
	}
	return n
}
