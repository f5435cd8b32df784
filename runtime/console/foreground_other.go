//go:build !unix

package console

import "os"

// InForeground reports whether this process may read from its terminal.
func InForeground(*os.File) bool { return true }
