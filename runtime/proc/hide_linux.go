package proc

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Hide prevents other programs of the same user from reading this process's memory and
// environment, and from tracing it. It also disables core files. Programs that this
// process starts are not hidden.
//
// Hide does nothing if /proc is mounted with hidepid, because a hidden process
// would then seem to have exited.
func Hide() error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || bytes.Contains(mounts, []byte("hidepid=")) {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide from other programs: %w", err)
	}
	return nil
}
