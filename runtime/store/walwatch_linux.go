package store

import (
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watchWAL returns a channel. After each write to the database's log in folder,
// by any process, the channel receives a value, until end is called. watchWAL
// returns nil if the user's limit for file watches is reached.
//
// It is implemented only on Linux. On some other systems, a watch would open
// the database file, and closing that file would drop this process's locks on
// it. On others, the watch would report a write only when the file is closed.
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
		default: // a signal is already pending
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
				if filepath.Base(event.Name) == SQLiteFile+"-wal" {
					ring()
				}
			case _, ok := <-w.Errors: // ring anyway, because some events were lost
				if !ok {
					return
				}
				ring()
			}
		}
	}()
	return bell, func() { w.Close(); <-ended }
}
