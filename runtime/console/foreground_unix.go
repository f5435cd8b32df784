//go:build unix

package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// InForeground reports whether this process may read from its terminal. If a
// background process tries to read, the system stops it.
func InForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
