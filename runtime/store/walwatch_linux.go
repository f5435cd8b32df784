package store

import (
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watchWAL rings after each write to the database's log in folder, by whatever
// process, until end is called. Nil: the system has no watches left to give, of
// which a user has a limited number.
//
// Linux alone has it: elsewhere the watch would open the database's file, and
// closing that would drop the locks that this process has on it, or would be told
// of a write only when the file is closed.
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
