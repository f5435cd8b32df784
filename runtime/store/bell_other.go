//go:build !linux

package store

// walBell is nil: this system tells of no writes, or not in a way that is safe for
// a database (see bell_linux.go).
func walBell(string) (rings <-chan struct{}, end func()) { return nil, func() {} }
