package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// firstNamespace is the initial PID namespace, PROC_PID_INIT_INO in the kernel.
const firstNamespace = "pid:[4026531836]"

// bootID returns the ID of this system boot, from which the start times of processes
// count. In a container, it also contains the PID namespace, because process IDs of one
// container mean nothing in another.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	boot := strings.TrimSpace(string(id))
	if space, err := os.Readlink("/proc/self/ns/pid"); err == nil && space != firstNamespace {
		boot += "." + strings.Trim(space, "pid:[]")
	}
	return boot
})

// StartTime returns the start time of the process with ID pid as opaque text.
// Two processes that had the same ID have different start times. The result is
// empty if there is no such process, or if the process has exited and its
// parent has not waited for it.
func StartTime(pid int) string {
	fields := stat(strconv.Itoa(pid))
	if fields == nil {
		return ""
	}
	return bootID() + "/" + string(fields[19])
}

// stat returns the fields in /proc/pid/stat that follow the process's name. The
// first is the state, the third is the group, and the 20th is the start time in
// clock ticks (see proc(5)). stat returns nil if there is no such process, or
// if the process has exited.
func stat(pid string) [][]byte {
	line, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil
	}
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return nil
	}
	return fields
}

// groupRuns reports whether any process in a group is still running, not counting
// zombies.
func groupRuns(group int) bool {
	if syscall.Kill(-group, 0) != nil {
		return false
	}
	entries, _ := os.ReadDir("/proc") // check each member, because all of them may be zombies
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		if name := e.Name(); name[0] < '0' || name[0] > '9' {
			return false
		}
		fields := stat(e.Name())
		return fields != nil && string(fields[2]) == strconv.Itoa(group)
	})
}
