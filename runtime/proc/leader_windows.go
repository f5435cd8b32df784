package proc

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// Detach makes cmd outlive this process and its console. Call it before cmd is
// started.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS, HideWindow: true}
}

// KillLeader does nothing. If it killed the leader, [Leader.Kill] could no
// longer find the rest of the group.
func (l Leader) KillLeader() {}

// Kill kills a process and the processes that it started. Windows knows a
// process's children only while the process is running. If the leader has
// exited, Kill does nothing.
func (l Leader) Kill() {
	if l.PID <= 0 || l.StartTime == "" || l.Exited() {
		return
	}
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(l.PID)).Run() == nil {
		return
	}
	if p, err := os.FindProcess(l.PID); err == nil {
		p.Kill()
		p.Release()
	}
}
