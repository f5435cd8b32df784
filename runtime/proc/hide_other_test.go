//go:build unix && !linux

package proc

func hidden(bool) {}
