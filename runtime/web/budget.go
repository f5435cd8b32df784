package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/semaphore"
)

// smallBody is what a body may have without being counted, in bytes: with one for
// each connection they are bounded already.
const smallBody = 64 << 10

// budgeted bounds the bodies of all requests in flight together. A request takes
// what its header says, or the most there may be, before anything of it is read;
// it gives back what did not come once the body has ended, and the rest with the
// answer. One that waits in vain is told when to come back.
func (s *Server) budgeted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength >= 0 && r.ContentLength <= smallBody {
			next.ServeHTTP(w, r)
			return
		}
		b := &budgetedBody{ReadCloser: r.Body, of: s.bodies, held: r.ContentLength}
		if b.held < 0 {
			b.held = s.opts.MaxBodyBytes
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.opts.BodyWait)
		err := s.bodies.Acquire(ctx, b.held)
		cancel()
		if err != nil {
			w.Header().Set("Connection", "close") // none of it is read
			w.Header().Set("Retry-After", strconv.Itoa(int(s.opts.BodyWait/time.Second)+1))
			refuse(w, http.StatusServiceUnavailable, "busy", "other requests already use as much memory as this server allows for bodies", "retry, or send less in one request")
			return
		}
		defer func() { b.shrinkTo(0) }()
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.opts.BodyTime)) // a test's recorder has none
		r.Body = b
		next.ServeHTTP(w, r)
	})
}

// budgetedBody is a body that has a part of the budget. It is read by one
// goroutine at a time, the last one that of the handler.
type budgetedBody struct {
	io.ReadCloser
	of   *semaphore.Weighted
	read int64
	held int64 // bytes of the budget
}

func (b *budgetedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if errors.Is(err, io.EOF) {
		b.shrinkTo(b.read)
	}
	return n, err
}

// shrinkTo gives back the part of the reservation beyond n bytes.
func (b *budgetedBody) shrinkTo(n int64) {
	if b.held > n {
		b.of.Release(b.held - n)
		b.held = n
	}
}
