//go:build !unix && !windows

package tasks

import "os/exec"

func detach(*exec.Cmd) {}

func (l groupLeader) settle() {}

// Kill does nothing: this system has no processes to end.
func (l groupLeader) Kill() {}
