//go:build !linux

package store

// watchWAL returns nil, because this system has no file watch or none that is
// safe for a database (see walwatch_linux.go).
func watchWAL(string) (rings <-chan struct{}, end func()) { return nil, func() {} }
