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

// bounded limits the size of a body and the time that it and each piece of the
// answer may take. http.Server's own ReadTimeout and WriteTimeout would end
// streams too, as they count on while a handler runs. Deadlines cannot be set
// on a connection that has none, such as a test's recorder; that is no error.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timed := &timedWriter{ResponseWriter: w, control: http.NewResponseController(w), time: s.opts.WriteTime}
		timed.extend() // a deadline of the request before may have passed
		if r.ContentLength > s.opts.MaxBodyBytes {
			w.Header().Set("Connection", "close") // none of it is read
			refuse(timed, http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body has %d bytes, the maximum is %d", r.ContentLength, s.opts.MaxBodyBytes), "send less")
			return
		}
		if r.ContentLength != 0 {
			_ = timed.control.SetReadDeadline(time.Now().Add(s.opts.BodyTime))
			r.Body = &timedBody{ReadCloser: http.MaxBytesReader(w, r.Body, s.opts.MaxBodyBytes), control: timed.control}
		}
		next.ServeHTTP(timed, r)
		timed.extend() // for what is still buffered
	})
}

// timedBody lifts the deadline once the body has arrived: what follows on the
// connection is the next request, at its own time.
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

// timedWriter gives each write its own time, so that a stream may be silent
// but a client that does not read is let go.
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

// recovered answers for a handler that panics, with an ID whose log line has
// the rest. Of the path it has the pattern: what a link carries may be a secret.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(p) // how a handler cuts a connection
			}
			id := rand.Text()[:8]
			s.opts.Logger.Error("internal error", "error_id", id, "path", r.Pattern, "panic", p, "stack", string(debug.Stack()))
			// After the first byte of an answer this can only be ignored.
			refuse(w, http.StatusInternalServerError, "internal", "internal error (id "+id+")", "")
		}()
		next.ServeHTTP(w, r)
	})
}
