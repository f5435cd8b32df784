//go:build unix && !linux && !darwin

package proc

import (
	"os/exec"
	"strconv"
	"strings"
)

// StartTime returns the start time of the process with ID pid as opaque text,
// with a resolution of one second. The result is empty if there is no such
// process.
func StartTime(pid int) string {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(out)), "-")
}

// groupRuns returns false, because this system does not list the processes in a
// group.
func groupRuns(int) bool { return false }
