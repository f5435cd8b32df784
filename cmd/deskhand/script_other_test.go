//go:build !unix

package main

import "github.com/rogpeppe/go-internal/testscript"

// lock is for systems where the test takes the lock as the program does.
func lock(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("lock is not known on this system")
}
