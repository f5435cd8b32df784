//go:build unix

package storetest

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is the user ID that PostgreSQL runs under if the tests run as root,
// because PostgreSQL refuses to run as root. The number is that of the user
// nobody on Linux, but any number except 0 works.
const nobody = 65534

// hand changes the owner of dir to the user that PostgreSQL runs under.
func hand(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(dir, nobody, nobody)
}

// demoted makes cmd run in dir, as nobody if this process is root.
func demoted(cmd *exec.Cmd, dir string) *exec.Cmd {
	cmd.Dir = dir
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}
