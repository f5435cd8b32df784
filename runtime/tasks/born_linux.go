package tasks

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
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
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// proc(5): the name in parentheses may have anything in it; state is the
	// first field behind, the start in clock ticks the 20th.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return ""
	}
	return bootID() + "/" + string(fields[19])
}
