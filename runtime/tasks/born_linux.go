package tasks

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// bootID tells one start of the machine from the next: times of processes
// count from there.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
})

// born is when a process started, as a text that no other process with its
// number has. Empty: there is no such process, or it has ended and nobody has
// taken note yet.
func born(pid int) string {
	fields := stat(strconv.Itoa(pid))
	if fields == nil {
		return ""
	}
	return bootID() + "/" + string(fields[19])
}

// stat is what proc(5) tells of a process that has not ended, behind its name,
// which may have anything in it: the state is first, the group third, and the
// start in clock ticks the 20th. Nil: there is no such process.
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

// working says that a process of a group has not ended.
func working(group int) bool {
	if syscall.Kill(-group, 0) != nil {
		return false
	}
	entries, _ := os.ReadDir("/proc") // it may be only one that nobody has taken note of
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		if name := e.Name(); name[0] < '0' || name[0] > '9' {
			return false
		}
		fields := stat(e.Name())
		return fields != nil && string(fields[2]) == strconv.Itoa(group)
	})
}
