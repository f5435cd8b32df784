package web

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/deskhand/deskhand/runtime/proc"
)

// Places limits how many requests a server holds: streams, and calls that wait for a person.
// Beyond it, they are refused immediately. All other requests, such as answers and /healthz,
// need no place, and have connections of their own: see [Options.MaxConns].
type Places struct {
	most  int64
	taken atomic.Int64
}

// NewPlaces returns so many places. If most is zero, there are as many as the memory and the
// open files of this process allow.
func NewPlaces(most int) *Places {
	if most == 0 {
		memory, known := proc.Memory()
		if !known {
			memory = unknownMemory
		}
		most = placesFor(memory, proc.Files())
	}
	return &Places{most: int64(most)}
}

const (
	// heldBytes is the memory reserved for each place. A watcher of the inbox takes 28 to 51
	// KiB of the process (BenchmarkWatchers), and up to as much in the system's buffers.
	// Other held requests were not measured.
	heldBytes = 128 << 10
	// heldShare is the part of the memory that held requests may use.
	heldShare = 4
	// unknownMemory is assumed on systems that do not tell.
	unknownMemory = 4 << 30
	// leastPlaces is the number of places with however little memory.
	leastPlaces = 64
	// otherFiles are the open files that a server needs for all else.
	otherFiles = 256
)

// placesFor returns how many requests may be held with so many bytes of memory and open
// files, of which each place needs one.
func placesFor(memory, files uint64) int {
	n := memory / heldShare / heldBytes
	files = min(files, math.MaxInt32)
	if spare := files - min(files, otherFiles); n > spare-spare/reservedShare {
		n = spare - spare/reservedShare
	}
	return int(min(max(n, leastPlaces), math.MaxInt32))
}

// reservedShare says how many connections there are in addition to the places: one for so
// many, but at least leastReserved.
const (
	reservedShare = 8
	leastReserved = 64
)

// conns returns how many connections a server with these places has.
func (p *Places) conns() int {
	return int(p.most + max(p.most/reservedShare, leastReserved))
}

// Take takes a place until leave is called. If all are taken, ok is false.
func (p *Places) Take() (leave func(), ok bool) {
	if p.taken.Add(1) > p.most {
		p.taken.Add(-1)
		return func() {}, false
	}
	return sync.OnceFunc(func() { p.taken.Add(-1) }), true
}

// retryHeld is after how many seconds a refused request may be repeated.
const retryHeld = 5

// holding refuses requests of a route in [Options.Held] while there is no place.
func (s *Server) holding(route string, next http.Handler) http.Handler {
	if !s.opts.Held[route] {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, ok := s.opts.Places.Take()
		defer leave()
		if !ok {
			w.Header().Set("Connection", "close") // gives the connection to others
			w.Header().Set("Retry-After", strconv.Itoa(retryHeld))
			refuse(w, http.StatusServiceUnavailable, "busy", "this server already holds as many requests as its memory allows", "retry, or use another server of the same store")
			return
		}
		next.ServeHTTP(w, r)
	})
}
