//go:build unix

package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// InForeground reports whether this process may read from its terminal: one in
// the background of a shell would be stopped by the attempt.
func InForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
