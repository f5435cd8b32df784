//go:build !unix

package worktree

import "os"

const openFlags = os.O_RDONLY

// isNotFolder returns false, because on these systems os.Root reports "does not
// exist" instead.
func isNotFolder(error) bool { return false }
