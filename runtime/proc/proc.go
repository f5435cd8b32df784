// Package proc starts, finds and ends operating system processes, with one
// behaviour on each system.
//
// [Start] starts a program in a [Group] that does not outlive this process,
// whatever ends it: the leader and what it starts in its group end with it. The
// system ends the group where it can (a parent-death signal on Linux, a job
// object on Windows). On Unix a guard does so too: a shell that holds the end of
// a pipe and kills the whole group when this process is gone. Unlike the signal,
// the guard also reaches a program behind a wrapper such as a sandbox. It learns
// the group's number a moment after the program has started; if this process is
// killed in that moment, only the leader ends.
//
// [Detach] does the opposite: the program outlives this process. A [Leader] is
// the number and start time of a process; stored, it lets a later process find
// out whether that process still runs, and end its group.
package proc

import (
	"errors"
	"os"
	"strings"
	"sync"
)

// errNoGuard is returned if no guard could be started, as on a system without a
// shell.
var errNoGuard = errors.New("no guard could be started")

// Leader identifies a process that leads a process group. The zero value
// identifies none: its methods do nothing, and Exited is false.
type Leader struct {
	// PID is the process ID, and on Unix the ID of its group.
	PID int
	// StartTime is what [StartTime] returned for PID. Empty: it is not known.
	StartTime string
}

// LeaderOf returns the Leader with the process ID pid.
func LeaderOf(pid int) Leader { return Leader{pid, StartTime(pid)} }

// Self returns this process.
func Self() Leader { return self() }

var self = sync.OnceValue(func() Leader { return LeaderOf(os.Getpid()) })

// Exited reports whether the process has ended, also if another process has its
// ID now. It is false if StartTime is not known.
func (l Leader) Exited() bool { return l.StartTime != "" && StartTime(l.PID) != l.StartTime }

// Boot returns the ID of the system start that the process belongs to. It is
// empty if the start time has none, as on every system but Linux.
func (l Leader) Boot() string {
	boot, _, ok := strings.Cut(l.StartTime, "/")
	if !ok {
		return ""
	}
	return boot
}

// OtherBoot reports whether the process belongs to another system start than
// this process: to an earlier one of this machine, or to another machine whose
// state was copied. Its ID means nothing here then. It is false if either boot
// is not known.
func (l Leader) OtherBoot() bool {
	theirs, ours := l.Boot(), Self().Boot()
	return theirs != "" && ours != "" && theirs != ours
}
