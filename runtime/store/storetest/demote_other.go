//go:build !unix

package storetest

import "os/exec"

func hand(string) error { return nil }

func demoted(cmd *exec.Cmd, dir string) *exec.Cmd {
	cmd.Dir = dir
	return cmd
}
