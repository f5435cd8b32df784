//go:build unix && !linux

package proc

import "os/exec"

// startBound starts cmd. This system has no parent-death signal, so only the
// guard kills the group.
func startBound(cmd *exec.Cmd) (release func(), err error) { return func() {}, cmd.Start() }
