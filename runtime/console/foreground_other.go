//go:build !unix

package console

import "os"

func InForeground(*os.File) bool { return true }
