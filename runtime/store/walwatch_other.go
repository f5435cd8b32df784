//go:build !linux

package store

// watchWAL returns nil. This system has no file watch, or its file watch is not
// safe for a database (see walwatch_linux.go).
func watchWAL(string) (rings <-chan struct{}, end func()) { return nil, func() {} }
