//go:build !unix

package worktree

import "os"

const openFlags = os.O_RDONLY

// isNotFolder: os.Root says "does not exist" there.
func isNotFolder(error) bool { return false }
