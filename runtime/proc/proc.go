// Package proc starts, finds and kills operating system processes, with the same
// behaviour on every system.
//
// [Start] starts a program in a [Group] that does not outlive this process,
// however this process ends. The leader, and the processes that it starts in
// its group, are then killed. Where possible, the operating system kills them,
// with a parent-death signal on Linux and a job object on Windows. On Unix, a
// guard kills the group too. The guard is a shell that reads from a pipe, and
// kills the whole group when this process no longer exists. Unlike the signal,
// the guard also reaches a program behind a wrapper, for example a sandbox. The
// guard learns the group's ID just after the program has started. If this
// process is killed in between, only the leader is killed.
//
// [Detach] does the opposite: the program outlives this process. A [Leader]
// holds the ID and start time of a process. A later process that reads a stored
// Leader can find out whether the leader is still running, and can kill its
// group.
package proc

import (
	"errors"
	"os"
	"strings"
	"sync"
)

// errNoGuard is returned if the guard could not be started, for example on a
// system without a shell.
var errNoGuard = errors.New("cannot start the process that stops a group of processes")

// Leader identifies a process that leads a process group. The zero value
// identifies no process. Its methods then do nothing, and Exited returns false.
type Leader struct {
	// PID is the process ID. On Unix, it is also the ID of the process's group.
	PID int
	// StartTime is the result of [StartTime] for PID. It is empty if the start
	// time is unknown.
	StartTime string
}

// LeaderOf returns the Leader for the process ID pid.
func LeaderOf(pid int) Leader { return Leader{pid, StartTime(pid)} }

// Self returns the Leader for this process.
func Self() Leader { return self() }

var self = sync.OnceValue(func() Leader { return LeaderOf(os.Getpid()) })

// Exited reports whether the process has exited, even if another process now has its
// ID. It returns false if StartTime is unknown.
func (l Leader) Exited() bool { return l.StartTime != "" && StartTime(l.PID) != l.StartTime }

// Boot returns the ID of the system boot to which the process belongs. It is
// empty if the start time does not contain a boot ID. Only Linux has boot IDs.
func (l Leader) Boot() string {
	boot, _, ok := strings.Cut(l.StartTime, "/")
	if !ok {
		return ""
	}
	return boot
}

// OtherBoot reports whether the process belongs to another system boot than this
// process: to an earlier one of this machine, to another container, or to another machine
// whose state was copied. The process ID then means nothing here. OtherBoot returns false if either
// boot is unknown.
func (l Leader) OtherBoot() bool {
	theirs, ours := l.Boot(), Self().Boot()
	return theirs != "" && ours != "" && theirs != ours
}

// OtherContainer reports whether the process belongs to the same system boot as this
// process, but to another PID namespace: it may be running, and its ID means nothing here.
func (l Leader) OtherContainer() bool {
	theirs, _, _ := strings.Cut(l.Boot(), ".")
	ours, _, _ := strings.Cut(Self().Boot(), ".")
	return l.OtherBoot() && theirs == ours
}
