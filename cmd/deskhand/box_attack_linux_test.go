package main

import (
	"runtime"
	"syscall"
)

func ptrace(pid int) error {
	runtime.LockOSThread()
	return syscall.PtraceAttach(pid)
}
