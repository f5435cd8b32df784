//go:build unix

package worktree

import (
	"errors"
	"os"
	"syscall"
)

// readFlags keep the open from waiting for a pipe's writer, openFlags also from
// following a link.
const (
	readFlags = os.O_RDONLY | syscall.O_NONBLOCK
	openFlags = readFlags | syscall.O_NOFOLLOW
)

func isNotFolder(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.EINVAL)
}
