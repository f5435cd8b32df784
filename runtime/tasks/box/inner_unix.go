//go:build unix

package box

import (
	"os"
	"os/exec"
	"syscall"
)

// execProgram replaces this process with the program.
func execProgram(program string, line []string) error {
	return syscall.Exec(program, line, os.Environ())
}

func signalOf(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}
