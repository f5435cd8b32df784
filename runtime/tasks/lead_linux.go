package tasks

import (
	"os/exec"
	"syscall"
)

// lead makes cmd the leader of a group that the system ends with this process.
func lead(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
