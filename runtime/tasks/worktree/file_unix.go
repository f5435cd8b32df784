//go:build unix

package worktree

import (
	"errors"
	"os"
	"syscall"
)

// openFlags keep the open from waiting for a pipe's writer and from following a
// link.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW

func isNotFolder(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.EINVAL)
}
