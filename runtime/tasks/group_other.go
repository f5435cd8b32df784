//go:build !unix && !windows

package tasks

import "os/exec"

func detach(*exec.Cmd) {}

// end does nothing: this system has no processes to end.
func (l groupLeader) end() {}

func lead(*exec.Cmd) {}

func (l groupLeader) interrupt() {}

func (l groupLeader) terminate() {}
