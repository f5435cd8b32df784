//go:build !unix

package worktree

import "os"

const openFlags = os.O_RDONLY

// isNotFolder returns false, because os.Root reports "does not exist" on these systems.
func isNotFolder(error) bool { return false }
