package box

import (
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// held keeps the locked files of [stayAlive] open until this process ends.
var held struct {
	sync.Mutex
	files []*os.File
}

// stayAlive locks a file in dir until this process ends, however it ends, and
// returns its path. A container engine goes on without the process that called
// it: [Inner.endWith] ends what is in the container when the lock is free.
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
		return "", err // a locked file is this process's, from the attempt's earlier program
	}
	return path, nil
}

// endWith exits, and so ends the container, when the process that started it has
// ended. It does nothing if locks do not cross into the container, which
// is so if the engine runs in a virtual machine.
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
		for unix.Flock(int(f.Fd()), unix.LOCK_SH) != nil { // a signal interrupts it
		}
		os.Exit(exitBroken) // the container's init ends with this process, and all others with it
	}()
}
