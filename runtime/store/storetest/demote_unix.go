//go:build unix

package storetest

import (
	"os"
	"os/exec"
	"syscall"
)

// nobody is the ID of the user that PostgreSQL runs as if the tests run as
// root, because PostgreSQL refuses to run as root. On Linux, the user nobody
// has this ID, but any ID except 0 works.
const nobody = 65534

// hand makes the user that PostgreSQL runs as the owner of dir.
func hand(dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Chown(dir, nobody, nobody)
}

// demoted makes cmd run in dir. If this process is root, cmd runs as nobody.
func demoted(cmd *exec.Cmd, dir string) *exec.Cmd {
	cmd.Dir = dir
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}
