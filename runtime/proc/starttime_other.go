//go:build unix && !linux && !darwin

package proc

import (
	"os/exec"
	"strconv"
	"strings"
)

// StartTime returns when the process pid started, to the second, as opaque text.
// It is empty if there is no such process.
func StartTime(pid int) string {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(out)), "-")
}

// groupRuns returns false: this system does not say which processes a group has.
func groupRuns(int) bool { return false }
