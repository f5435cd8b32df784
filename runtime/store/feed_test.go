package store

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestThousandsOfWatchersAreWokenInGroups(t *testing.T) {
	const count = 1000
	f := &feed{pump: &pump{wake: make(chan struct{}, 1)}, watchers: map[Filter]map[*Watcher]struct{}{}}
	join := func(filter Filter) *Watcher {
		w := &Watcher{filter: filter, wake: make(chan struct{}, 1)}
		if f.watchers[filter] == nil {
			f.watchers[filter] = map[*Watcher]struct{}{}
		}
		f.watchers[filter][w] = struct{}{}
		return w
	}
	var all []*Watcher
	for range count {
		all = append(all, join(Filter{Topic: "notes"}))
	}
	one := join(Filter{Topic: "notes", Key: "k"})
	woken := func() (n int) {
		for _, w := range all {
			n += len(w.wake)
		}
		return n
	}
	f.mu.Lock()
	f.add([]Event{{Seq: 1, Topic: "notes", Key: "other"}, {Seq: 2, Topic: "notes", Key: "k"}})
	if got := woken(); got != wakeAtOnce || len(one.wake) != 1 {
		t.Errorf("%d of %d watchers of a topic and %d of 1 of a key are woken immediately, want %d and 1", got, count, len(one.wake), wakeAtOnce)
	}
	f.mu.Unlock()
	waittest.Until(t, "all watchers are woken", func() (bool, any) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return woken() == count && !f.waking, woken()
	})
}
