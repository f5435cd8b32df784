//go:build unix

package storetest

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is whom PostgreSQL runs as when the tests run as root, which it
// refuses. The number is that of nobody on Linux; any other than 0 will do.
const nobody = 65534

// hand makes dir the property of whom PostgreSQL runs as.
func hand(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(dir, nobody, nobody)
}

// demoted makes cmd run in dir, as nobody if this is root.
func demoted(cmd *exec.Cmd, dir string) *exec.Cmd {
	cmd.Dir = dir
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}
