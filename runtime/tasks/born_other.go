//go:build !linux && !darwin && !windows

package tasks

import (
	"os/exec"
	"strconv"
	"strings"
)

// born is when a process started, as a text that no other process with its
// number has within the same second. Empty: there is no such process.
func born(pid int) string {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(out)), "-")
}

// working is not known here.
func working(int) bool { return false }
