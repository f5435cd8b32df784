package tasks

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach makes cmd outlive this process and its console.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS, HideWindow: true}
}

// settle does nothing: what a leader left behind that has ended goes on.
func (l groupLeader) settle() {}

// Kill ends a process and what it started. Windows knows who started whom only
// while the starter lives: what a leader left behind that has ended is not
// found.
func (l groupLeader) Kill() {
	if l.pid <= 0 || l.born == "" || l.dead() {
		return
	}
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(l.pid)).Run() == nil {
		return
	}
	if p, err := os.FindProcess(l.pid); err == nil {
		p.Kill()
		p.Release()
	}
}
