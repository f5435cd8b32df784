//go:build unix

package trust

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// openNoWait opens a file for reading. If the file is a pipe, it does not wait
// for a writer.
func openNoWait(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// stranger returns the owner of a file, or "" if the owner is root or this
// process's user.
func stranger(info os.FileInfo) string {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok || sys.Uid == 0 || int(sys.Uid) == os.Geteuid() {
		return ""
	}
	id := strconv.FormatUint(uint64(sys.Uid), 10)
	if u, err := user.LookupId(id); err == nil && u.Username != "" {
		return fmt.Sprintf("the user %s (%s)", u.Username, id)
	}
	return "the user " + id
}
