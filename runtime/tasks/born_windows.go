package tasks

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// born is when a process started, as a text that no other process with its
// number has. Empty: there is no such process.
func born(pid int) string {
	p, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return ""
	}
	defer windows.CloseHandle(p)
	if state, err := windows.WaitForSingleObject(p, 0); err != nil || state != uint32(windows.WAIT_TIMEOUT) {
		return "" // it has ended, and somebody still holds on to it
	}
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(p, &created, &exited, &kernel, &user) != nil {
		return ""
	}
	return fmt.Sprint(created.Nanoseconds())
}
