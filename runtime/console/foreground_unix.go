//go:build unix

package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// InForeground reports whether this process may read from its terminal. A background
// process would be stopped by the shell if it tried.
func InForeground(terminal *os.File) bool {
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
