package proc

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB in sys/proc.h.
const zombie = 5

// StartTime returns the start time of the process with ID pid as opaque text.
// Two processes that had the same ID have different start times. The result is
// empty if there is no such process, or if the process has exited and its
// parent has not waited for it.
func StartTime(pid int) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || info.Proc.P_stat == zombie {
		return ""
	}
	t := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", t.Sec, t.Usec)
}

// groupRuns reports whether any process in a group is still running, not counting
// zombies.
func groupRuns(group int) bool {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	return err == nil && slices.ContainsFunc(all, func(p unix.KinfoProc) bool { return p.Proc.P_stat != zombie })
}
