package store

import (
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watchWAL returns a channel that receives after each write to the database's
// log in folder, by any process, until end is called. It returns nil if the
// system has no file watches left, whose number per user is limited.
//
// Only Linux has it. On other systems the watch would open the database file,
// and closing that would drop this process's locks on it, or the watch would
// fire only when the file is closed.
func watchWAL(folder string) (rings <-chan struct{}, end func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {}
	}
	if err := w.Add(folder); err != nil {
		w.Close()
		return nil, func() {}
	}
	bell := make(chan struct{}, 1)
	ring := func() {
		select {
		case bell <- struct{}{}:
		default: // somebody will look anyway
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case event, ok := <-w.Events:
				if !ok {
					return
				}
				if filepath.Base(event.Name) == sqliteFile+"-wal" {
					ring()
				}
			case _, ok := <-w.Errors: // some were lost
				if !ok {
					return
				}
				ring()
			}
		}
	}()
	return bell, func() { w.Close(); <-ended }
}
