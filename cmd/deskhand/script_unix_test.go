//go:build unix

package main

import (
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// lock takes the lock of an index folder as a build does.
func lock(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(filepath.Join(ts.MkAbs(args[0]), ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	ts.Check(err)
	ts.Defer(func() { f.Close() })
	ts.Check(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	ts.Value(heldKey{}).(*held).file = f
}
