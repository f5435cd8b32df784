package tasks

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// born is when a process started, as a text that no other process with its
// number has. Empty: there is no such process, or it has ended and nobody has
// taken note yet.
func born(pid int) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || info.Proc.P_stat == zombie {
		return ""
	}
	t := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", t.Sec, t.Usec)
}

// working says that a process of a group has not ended.
func working(group int) bool {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	return err == nil && slices.ContainsFunc(all, func(p unix.KinfoProc) bool { return p.Proc.P_stat != zombie })
}
