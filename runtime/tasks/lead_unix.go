//go:build unix && !linux

package tasks

import (
	"os/exec"
	"syscall"
)

// lead makes cmd the leader of a group. If this process is killed, the sweep of
// another one ends the group.
func lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
