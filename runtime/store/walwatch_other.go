//go:build !linux

package store

// watchWAL is nil: this system tells of no writes, or not in a way that is safe for
// a database (see walwatch_linux.go).
func watchWAL(string) (rings <-chan struct{}, end func()) { return nil, func() {} }
