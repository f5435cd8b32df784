//go:build !unix

package worktree

import "os"

const (
	readFlags = os.O_RDONLY
	openFlags = readFlags
)

// isNotFolder returns false, because on these systems os.Root reports "does not
// exist" instead.
func isNotFolder(error) bool { return false }
