// Package firstgc delays a program's first garbage collection until its heap has 16 MB
// instead of 4 MB. Initializing the packages of deskhand and opening an index allocates
// less than that, nearly all of it to stay, so a collection at the start is in vain.
//
// It imports only a few packages of the standard library, so that Go initializes it before
// most packages that allocate.
package firstgc

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// firstPercent delays the first collection: Go collects for the first time when the heap has
// 4 MB times GOGC/100.
const firstPercent = 400

// rest is how GOGC is set after the first collection.
var rest struct {
	mu      sync.Mutex
	percent int
	now     bool // the first collection is over
}

// init does nothing if GOGC is set in the environment.
func init() {
	if os.Getenv("GOGC") != "" {
		rest.now = true
		return
	}
	rest.percent = debug.SetGCPercent(firstPercent)
	runtime.AddCleanup(new([16]byte), func(int) { collected() }, 0) // runs after the first collection
}

// collected applies the percentage that was set for the time after the first collection.
func collected() {
	rest.mu.Lock()
	defer rest.mu.Unlock()
	rest.now = true
	debug.SetGCPercent(rest.percent)
}

// SetPercent works like [debug.SetGCPercent], but takes effect after the first collection.
func SetPercent(percent int) (before int) {
	rest.mu.Lock()
	defer rest.mu.Unlock()
	if rest.now {
		return debug.SetGCPercent(percent)
	}
	before, rest.percent = rest.percent, percent
	return before
}
