package box

import (
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// held contains the files that [stayAlive] has locked. It keeps them open until
// this process exits.
var held struct {
	sync.Mutex
	files []*os.File
}

// stayAlive locks a file in dir until this process exits, for whatever reason.
// It returns the file's path. A container continues after the process that
// started it has exited. Therefore [Inner.endWith] stops the container when the
// lock is released.
func stayAlive(dir string) (string, error) {
	path := filepath.Join(dir, "alive")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	held.Lock()
	held.files = append(held.files, f)
	held.Unlock()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil && err != unix.EWOULDBLOCK {
		return "", err // if the file is already locked, this process locked it for an earlier program of the attempt
	}
	return path, nil
}

// endWith stops the container when the process that started the container has
// exited. It does nothing if the lock is not visible in the container, for
// example because the engine runs in a virtual machine.
func (in Inner) endWith() {
	if in.Alive == "" {
		return
	}
	f, err := os.Open(in.Alive)
	if err != nil {
		return
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		f.Close()
		return
	}
	go func() {
		for unix.Flock(int(f.Fd()), unix.LOCK_SH) != nil { // retry if a signal interrupts the call
		}
		os.Exit(exitBroken) // stops the container's init process, and therefore all other processes
	}()
}
