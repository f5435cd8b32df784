package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"
)

// bounded limits the size of a body, the time for the body, and the time for
// each piece of the answer. The ReadTimeout and WriteTimeout of http.Server
// would also end streams, because they continue while a handler runs. Setting a
// deadline fails on a connection without deadlines, for example in a test's
// recorder. That error is ignored.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timed := &timedWriter{ResponseWriter: w, control: http.NewResponseController(w), time: s.opts.WriteTime}
		timed.extend() // the previous request's deadline may have passed
		if r.ContentLength > s.opts.MaxBodyBytes {
			w.Header().Set("Connection", "close") // because the body is not read
			refuse(timed, http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is %d bytes long; the maximum is %d", r.ContentLength, s.opts.MaxBodyBytes), "send less")
			return
		}
		if r.ContentLength != 0 {
			_ = timed.control.SetReadDeadline(time.Now().Add(s.opts.BodyTime))
			r.Body = &timedBody{ReadCloser: http.MaxBytesReader(w, r.Body, s.opts.MaxBodyBytes), control: timed.control}
		}
		next.ServeHTTP(timed, r)
		timed.extend() // for data that is still in the buffer
	})
}

// timedBody removes the deadline when the whole body has arrived, because the
// next request on the connection has its own deadline.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// timedWriter sets a new deadline for each write. A stream may therefore be
// silent, but a client that does not read is disconnected.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	time    time.Duration
}

func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *timedWriter) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(w.time)) }

func (w *timedWriter) Write(p []byte) (int, error) {
	w.extend()
	return w.ResponseWriter.Write(p)
}

func (w *timedWriter) FlushError() error {
	w.extend()
	return w.control.Flush()
}

func (w *timedWriter) Flush() { _ = w.FlushError() }

// recovered answers if a handler panics. The answer contains the ID of the log
// line that has the details. The log line contains the path's pattern instead
// of the path, because a link may contain a secret.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p) // handlers use this to close a connection
			}
			id := rand.Text()[:8]
			s.opts.Logger.Error("internal error", "error_id", id, "path", r.Pattern, "panic", p, "stack", string(debug.Stack()))
			// If the first byte of the answer was already sent, this has no
			// effect.
			refuse(w, http.StatusInternalServerError, "internal", "internal error (id "+id+")", "")
		}()
		next.ServeHTTP(w, r)
	})
}
