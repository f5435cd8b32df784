//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// Open opens this process's controlling terminal, if the process is in the
// terminal's foreground. Otherwise the error is [ErrNoTerminal].
func Open() (*Device, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, ErrNoTerminal
	}
	// The system stops a background process that reads from the terminal.
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() {
		f.Close()
		return nil, ErrNoTerminal
	}
	return &Device{f, f}, nil
}
