package tasks

import (
	"fmt"

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
