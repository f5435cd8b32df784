// Package filelock locks files across processes.
package filelock

import "errors"

// ErrLocked is the error of Lock if another process has the lock.
var ErrLocked = errors.New("locked")
