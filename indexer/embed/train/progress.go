package train

import "sync"

// counter returns a function that adds one finished item to the progress. The function
// may be called concurrently.
func (t *trainer) counter(phase string, total int) func() {
	var (
		mu   sync.Mutex
		done int
	)
	t.Progress(phase, 0, total)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		t.Progress(phase, done, total)
	}
}
