package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// An answer of 15 MB is copied about ten times on its way from an upstream to a
// client, and many calls may be answered concurrently. So large answers share a
// limited buffer space. Each answer holds a place. It takes the place before most
// of the answer is read, and keeps it until the answer is written to the client.

const (
	// smallAnswer is the maximum size of a message without a place, in bytes. Such
	// a message never waits.
	smallAnswer = 1 << 20
	// placesBytes is the total size of all places.
	placesBytes = 32 << 20
	// placeWait is how long a message waits for a place, unless its call ends
	// earlier.
	placeWait = time.Minute
	// placeTime is how long a place is kept, which is more than a client needs to
	// read an answer. A message that takes longer to arrive is not read to its end.
	placeTime = 2 * time.Minute
)

// places is the buffer space that large answers share.
type places struct {
	bytes *semaphore.Weighted
	most  int64
	// The fields wait and time hold placeWait and placeTime, except in tests.
	wait, time time.Duration
}

func newPlaces() *places {
	return &places{semaphore.NewWeighted(placesBytes), placesBytes, placeWait, placeTime}
}

// Reasons why a large message is not forwarded.
var (
	errNoPlace = errors.New("too many other large answers are being passed on")
	errTooSlow = errors.New("the answer arrived too slowly")
)

// take waits for a place of size bytes, or of the whole buffer space if that is
// less. The error is errNoPlace or ctx's error.
func (p *places) take(ctx context.Context, size int) (*place, error) {
	held := min(int64(size), p.most)
	waiting, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	if p.bytes.Acquire(waiting, held) != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errNoPlace
	}
	taken := &place{of: p, held: held}
	taken.mu.Lock()
	defer taken.mu.Unlock()
	taken.end = time.AfterFunc(p.time, taken.leave)
	return taken, nil
}

// place is one message's share of the buffer space. It is nil for a small message.
type place struct {
	of *places

	mu   sync.Mutex
	held int64 // bytes; 0 once released
	end  *time.Timer
}

// keep releases the part of the place that exceeds size bytes.
func (p *place) keep(size int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if size := int64(size); size < p.held {
		p.of.bytes.Release(p.held - size)
		p.held = size
	}
	if p.held == 0 {
		p.end.Stop()
	}
}

func (p *place) leave() { p.keep(0) }

// lost reports whether the place has expired.
func (p *place) lost() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held == 0
}

// holder holds the place of a call's answer. Its zero value holds none.
type holder struct {
	mu    sync.Mutex
	place *place
	over  bool
}

// hold takes over p and releases the previous place.
func (h *holder) hold(p *place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.place.leave()
	if h.place = p; h.over {
		p.leave()
	}
}

// leave releases the place. Any later place is released immediately.
func (h *holder) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	h.place.leave()
}

// gathered is a message that is being read. Its size is limited by the upstream's
// limit and the available places.
type gathered struct {
	in    *inflow
	ctx   context.Context // the call's context; ends waiting for a place
	most  int             // bytes
	parts [][]byte
	size  int
	place *place
}

const (
	// partBytes is the maximum size of a message part, and readBytes is how much is
	// read at a time.
	partBytes = 1 << 20
	readBytes = 64 << 10
)

func (in *inflow) gather(ctx context.Context) *gathered {
	return &gathered{in: in, ctx: ctx, most: in.most()}
}

// need waits for a place if a message of size bytes, which may grow to expected
// bytes, requires one. The error is the reason why the message is not forwarded:
// errTooMuch, errNoPlace, errTooSlow, or the context's error.
func (g *gathered) need(size, expected int) (err error) {
	if size > g.most {
		return errTooMuch
	}
	if size > smallAnswer && g.place == nil {
		if g.place, err = g.in.u.g.places.take(g.ctx, max(expected, size)); err != nil {
			return err
		}
	}
	if g.place.lost() {
		return errTooSlow
	}
	return nil
}

// add appends p. expected is the maximum size of the whole message in bytes. The
// errors are those of need.
func (g *gathered) add(p []byte, expected int) error {
	if err := g.need(g.size+len(p), expected); err != nil {
		return err
	}
	for len(p) > 0 {
		free := g.free()
		n := copy(free, p)
		g.wrote(n)
		p = p[n:]
	}
	return nil
}

// free returns free space to write to.
func (g *gathered) free() []byte {
	last := len(g.parts) - 1
	if last < 0 || len(g.parts[last]) == cap(g.parts[last]) {
		g.parts = append(g.parts, make([]byte, 0, min(max(g.size, 4<<10), partBytes)))
		last++
	}
	part := g.parts[last]
	return part[len(part):cap(part)]
}

// wrote records that n bytes were written to the free space.
func (g *gathered) wrote(n int) {
	last := len(g.parts) - 1
	g.parts[last] = g.parts[last][:len(g.parts[last])+n]
	g.size += n
}

// all reads everything from r. length is the total number of bytes, or negative if
// it is unknown. The errors are those of need and of r.
func (g *gathered) all(r io.Reader, length int64) ([]byte, error) {
	expected := g.most
	if length >= 0 {
		if length > int64(g.most) {
			return nil, errTooMuch
		}
		expected = int(length)
		if err := g.need(expected, expected); err != nil {
			return nil, err
		}
		g.parts = [][]byte{make([]byte, 0, expected+1)} // one more byte to find the end
	}
	for {
		n, err := r.Read(g.free())
		g.wrote(n)
		if needs := g.need(g.size, expected); needs != nil {
			return nil, needs
		}
		if errors.Is(err, io.EOF) {
			return g.taken(), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// taken returns the message and reduces its place to the message's size.
func (g *gathered) taken() []byte {
	g.place.keep(g.size)
	if len(g.parts) == 1 {
		return g.parts[0]
	}
	whole := bytes.Join(g.parts, nil)
	g.parts = nil
	return whole
}

// handTo gives the place to the call whose answer this is. If there is no call, it
// returns the place, and the caller releases it after forwarding the message.
func (g *gathered) handTo(c *call) *place {
	if c == nil || g.place == nil {
		return g.place
	}
	c.place.hold(g.place)
	return nil
}

// ends returns the first and last bytes of a message that is not forwarded.
func (g *gathered) ends() (head, tail []byte) {
	if g.size == 0 {
		return nil, nil
	}
	first, last := g.parts[0], g.parts[len(g.parts)-1]
	return bytes.Clone(first[:min(len(first), endBytes)]), bytes.Clone(last[max(0, len(last)-endBytes):])
}

// drop discards the data and releases the place.
func (g *gathered) drop() {
	g.place.leave()
	g.parts, g.size, g.place = nil, 0, nil
}

// notPassed tells the agent why an answer is not forwarded.
func (in *inflow) notPassed(why error) string {
	switch {
	case errors.Is(why, errNoPlace):
		return fmt.Sprintf("the answer is larger than %d bytes, and too many other large answers are being passed on. The call was executed: request the answer, or a part of it, again later", smallAnswer)
	case errors.Is(why, errTooSlow):
		return fmt.Sprintf("the answer is larger than %d bytes and did not arrive within %v: request a part of it", smallAnswer, in.u.g.places.time)
	}
	return fmt.Sprintf("the answer is larger than the maximum of %d bytes: request a part of it, or increase max_bytes of upstream %s", in.most(), in.u.Name)
}
