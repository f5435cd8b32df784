package proc

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startBound starts cmd so that the kernel kills it when this process dies. For
// the kernel, the parent of cmd is the thread that started it. That thread is
// therefore locked until release is called.
func startBound(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started, released := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			<-released
		}
	}()
	return func() { close(released) }, <-started
}
