package proc

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// StartTime returns the start time of the process with ID pid as opaque text.
// Two processes that had the same ID have different start times. The result is
// empty if there is no such process, or if the process has exited.
func StartTime(pid int) string {
	p, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return ""
	}
	defer windows.CloseHandle(p)
	if state, err := windows.WaitForSingleObject(p, 0); err != nil || state != uint32(windows.WAIT_TIMEOUT) {
		return "" // the process has exited, but another process has a handle to it
	}
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(p, &created, &exited, &kernel, &user) != nil {
		return ""
	}
	return fmt.Sprint(created.Nanoseconds())
}
