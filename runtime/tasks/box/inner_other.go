//go:build !unix

package box

import (
	"errors"
	"os/exec"
)

// execProgram replaces this process with the program.
func execProgram(string, []string) error { return errors.New("this system supports no sandbox") }

func signalOf(*exec.ExitError) int { return 0 }
