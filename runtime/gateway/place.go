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

// An answer of 15 MB is written anew some ten times on its way from an upstream to
// a client, and many calls may be answered at once. So those that are large have a
// place: from before most of one was read until it was written to the client.

const (
	// smallAnswer is what a message may have without a place, in bytes: it never
	// waits.
	smallAnswer = 1 << 20
	// placesBytes is what those with a place have together.
	placesBytes = 32 << 20
	// placeWait is how long one waits for a place, if its call has that long.
	placeWait = time.Minute
	// placeTime is how long one is kept, which is more than a client has to read an
	// answer. What comes no faster than that is not read to its end.
	placeTime = 2 * time.Minute
)

// places are the bytes that large answers share.
type places struct {
	bytes *semaphore.Weighted
	most  int64
	// wait and time are placeWait and placeTime.
	wait, time time.Duration
}

func newPlaces() *places {
	return &places{semaphore.NewWeighted(placesBytes), placesBytes, placeWait, placeTime}
}

// Why a message that is large is not passed on.
var (
	errNoPlace = errors.New("large answers of others are all that is passed on at once")
	errTooSlow = errors.New("the answer came too slowly")
)

// take waits for a place for so many bytes, of which no more than there are count.
// The error is errNoPlace, or that of ctx.
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

// place is what one message holds of the places. Nil: it is small.
type place struct {
	of *places

	mu   sync.Mutex
	held int64 // bytes; 0: none any more
	end  *time.Timer
}

// keep gives back what is held beyond so many bytes.
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

// lost says that its time was up.
func (p *place) lost() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held == 0
}

// holder has the place of a call's answer. Its zero value has none.
type holder struct {
	mu    sync.Mutex
	place *place
	over  bool
}

// hold takes p over, in place of what it had.
func (h *holder) hold(p *place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.place.leave()
	if h.place = p; h.over {
		p.leave()
	}
}

// leave gives the place back, and what comes later at once.
func (h *holder) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	h.place.leave()
}

// gathered is one message as it is read. What it has at most goes by the upstream,
// and by whether there is a place for it.
type gathered struct {
	in    *inflow
	ctx   context.Context // of the call; ends waiting for a place
	most  int             // bytes
	parts [][]byte
	size  int
	place *place
}

const (
	// partBytes is how long a part of a message is at most, and readBytes how much
	// is read at once.
	partBytes = 1 << 20
	readBytes = 64 << 10
)

func (in *inflow) gather(ctx context.Context) *gathered {
	return &gathered{in: in, ctx: ctx, most: in.most()}
}

// need waits for a place if there are to be size bytes, which may become expected.
// The error is that the message will not be passed on: errTooMuch, errNoPlace,
// errTooSlow, or that of the context.
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

// add adds what came. expected is how long all of it may be, in bytes. Its errors
// are those of need.
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

// free is where more can be written.
func (g *gathered) free() []byte {
	last := len(g.parts) - 1
	if last < 0 || len(g.parts[last]) == cap(g.parts[last]) {
		g.parts = append(g.parts, make([]byte, 0, min(max(g.size, 4<<10), partBytes)))
		last++
	}
	part := g.parts[last]
	return part[len(part):cap(part)]
}

// wrote says that n bytes were written there.
func (g *gathered) wrote(n int) {
	last := len(g.parts) - 1
	g.parts[last] = g.parts[last][:len(g.parts[last])+n]
	g.size += n
}

// all reads r to its end, which comes after length bytes if that is not below
// zero. Its errors are those of need, and of r.
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
		g.parts = [][]byte{make([]byte, 0, expected+1)} // and one in which to find the end
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

// taken is the message. What it holds of the places is what it needs from here on.
func (g *gathered) taken() []byte {
	g.place.keep(g.size)
	if len(g.parts) == 1 {
		return g.parts[0]
	}
	whole := bytes.Join(g.parts, nil)
	g.parts = nil
	return whole
}

// handTo gives the place to the call whose answer this is. What it returns is the
// place if there is none, which is left when the message was passed on.
func (g *gathered) handTo(c *call) *place {
	if c == nil || g.place == nil {
		return g.place
	}
	c.place.hold(g.place)
	return nil
}

// ends are what is kept of a message that is not passed on.
func (g *gathered) ends() (head, tail []byte) {
	if g.size == 0 {
		return nil, nil
	}
	first, last := g.parts[0], g.parts[len(g.parts)-1]
	return bytes.Clone(first[:min(len(first), endBytes)]), bytes.Clone(last[max(0, len(last)-endBytes):])
}

// drop forgets what there is.
func (g *gathered) drop() {
	g.place.leave()
	g.parts, g.size, g.place = nil, 0, nil
}

// notPassed words why an answer is not passed on.
func (in *inflow) notPassed(why error) string {
	switch {
	case errors.Is(why, errNoPlace):
		return fmt.Sprintf("the answer has more than %d bytes, and large answers to other calls are all that is passed on at once: it was done, so ask for the answer, or a part of it, again later", smallAnswer)
	case errors.Is(why, errTooSlow):
		return fmt.Sprintf("the answer has more than %d bytes and did not arrive within %v: ask for a part", smallAnswer, in.u.g.places.time)
	}
	return fmt.Sprintf("the answer has more than the %d bytes that are passed on: ask for a part, or set max_bytes of upstream %s", in.most(), in.u.Name)
}
