package proc

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startBound starts cmd so that the system kills it with this process. By the
// system's rules the parent is the thread that started it, so that thread is
// kept until release is called.
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
