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

// smallBody is the maximum size, in bytes, of a body that is not counted. The
// limit on connections also limits the total size of such bodies.
const smallBody = 64 << 10

// budgeted limits the total size of the bodies of all running requests. Before
// a body is read, its request reserves the length given in the header, or the
// maximum length. It releases the unused part at the end of the body, and the
// rest when the request is answered. If the reservation is not possible in
// time, the client is told when to retry.
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
			w.Header().Set("Connection", "close") // because the body is not read
			w.Header().Set("Retry-After", strconv.Itoa(int(s.opts.BodyWait/time.Second)+1))
			refuse(w, http.StatusServiceUnavailable, "busy", "other requests already use as much memory as this server allows for bodies", "retry, or send less in one request")
			return
		}
		defer func() { b.shrinkTo(0) }()
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.opts.BodyTime)) // ignore the error: a test's recorder has no deadline
		r.Body = b
		next.ServeHTTP(w, r)
	})
}

// budgetedBody is a body for which part of the budget is reserved. Only one
// goroutine reads it at a time. The last one is the handler's.
type budgetedBody struct {
	io.ReadCloser
	of   *semaphore.Weighted
	read int64
	held int64 // reserved bytes
}

func (b *budgetedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if errors.Is(err, io.EOF) {
		b.shrinkTo(b.read)
	}
	return n, err
}

// shrinkTo releases the reserved bytes that exceed n.
func (b *budgetedBody) shrinkTo(n int64) {
	if b.held > n {
		b.of.Release(b.held - n)
		b.held = n
	}
}
