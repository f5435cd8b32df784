package embed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// failure is the error of a request that returned no vectors.
type failure struct {
	// status is the HTTP status, or 0 if there was no response.
	status int
	// reason is the cause, if it is known, on one line and without secrets.
	reason string
	// wait is the delay that the provider requests, or 0 if it does not request
	// one.
	wait time.Duration
	// again is true if the same request may succeed later. long is true if a request
	// with less text may succeed.
	again, long bool
}

func (f *failure) Error() string {
	if f.status == 0 {
		return f.reason
	}
	return strings.TrimSuffix(fmt.Sprintf("%d %s: %s", f.status, http.StatusText(f.status), f.reason), ": ")
}

const (
	// tries is the maximum number of attempts for one request. The pauses between
	// these attempts add up to half a minute, or more if the provider specifies longer
	// pauses.
	tries = 7
	// longestPause is the maximum pause that deskhand chooses. longestWait is the
	// maximum pause that it accepts from a provider.
	longestPause = 20 * time.Second
	longestWait  = 2 * time.Minute
	// answerWithin is the timeout of one request. A local model may have to be
	// loaded first, and its computation takes a while.
	answerWithin = 2 * time.Minute
	// leastBytes is the length in bytes below which text is not halved.
	leastBytes = 200
)

// ask requests the vectors of wants and stores them. It splits a request that is too
// large. It retries while a retry may succeed and the context more has not been
// cancelled. Cancelling ctx stops a running request.
func (m *Remote) ask(ctx, more context.Context, wants []*want) error {
	texts := make([]string, len(wants))
	for i, w := range wants {
		texts[i] = w.text
	}
	for try := 1; ; try++ {
		if err := m.quietly(more); err != nil {
			return err
		}
		sending, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("no answer within %v", answerWithin))
		r, err := m.send(sending, texts)
		cancel()
		if err == nil {
			return m.keep(wants, r)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f := new(failure)
		switch {
		case !errors.As(err, &f):
			return err
		case f.long && len(wants) > 1:
			half := len(wants) / 2
			if err := m.ask(ctx, more, wants[:half]); err != nil {
				return err
			}
			return m.ask(ctx, more, wants[half:])
		case f.long && len(texts[0]) > leastBytes:
			wants[0].text = cut(texts[0], len(texts[0])/2) // the key is still that of the full text
			return m.ask(ctx, more, wants)
		case !f.again || try == tries || f.wait > longestWait:
			return m.fault(err, try)
		}
		m.hush(f.wait)
		if err := sleep(more, m.backoff(try)); err != nil {
			return err
		}
	}
}

// backoff returns the pause after an attempt. Half of the pause is random, so that
// requests that failed together are not retried together.
func (m *Remote) backoff(try int) time.Duration {
	pause := min(m.pause<<(try-1), longestPause)
	return pause/2 + rand.N(pause/2+1)
}

// hush delays all requests for the given time.
func (m *Remote) hush(wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if until := time.Now().Add(wait); until.After(m.quiet) {
		m.quiet = until
	}
}

// quietly waits until the delay that hush set is over.
func (m *Remote) quietly(ctx context.Context) error {
	m.mu.Lock()
	wait := time.Until(m.quiet)
	m.mu.Unlock()
	return sleep(ctx, wait)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return context.Cause(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send makes one attempt and counts it.
func (m *Remote) send(ctx context.Context, texts []string) (reply, error) {
	r, err := m.request(ctx, texts)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Requests++
	if err != nil {
		return reply{}, err
	}
	if r.tokens <= 0 {
		m.usage.Estimated = true
		for _, text := range texts {
			r.tokens += (len(text) + 3) / 4
		}
	}
	m.usage.Tokens += int64(r.tokens)
	return r, nil
}

// keep stores the vectors in wants and in the cache.
func (m *Remote) keep(wants []*want, r reply) error {
	if err := m.accept(r, len(wants), true); err != nil {
		return err
	}
	for i, w := range wants {
		w.vector = r.vectors[i]
	}
	if m.cache != nil {
		m.cache.write(wants)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Made += len(wants)
	return nil
}

// fault converts the error of a request to a fault. tries is the number of attempts
// that failed.
func (m *Remote) fault(err error, tries int) error {
	f := new(failure)
	if !errors.As(err, &f) {
		return err
	}
	message := m.name + " returned no vectors: " + f.Error()
	if tries > 1 {
		message = fmt.Sprintf("%s returned no vectors in %d tries; the last error: %s", m.name, tries, f.Error())
	}
	switch {
	case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden:
		return fault.New("embedder_refused", message, m.keyHint())
	case f.status == http.StatusNotFound:
		return fault.New("embedder_refused", message, "check the model's name and the address; a local server may have to download the model first")
	case f.wait > longestWait:
		return &fault.Fault{Code: "embedder_down", Message: message, Retryable: true,
			Hint: fmt.Sprintf("build again in %v, as the provider requests; the vectors received so far are cached", f.wait)}
	case f.again:
		return &fault.Fault{Code: "embedder_down", Message: message, Retryable: true,
			Hint: "check that the provider is running and reachable; vectors received so far are cached, so build again later"}
	}
	return fault.New("embedder_refused", message, "fix the reported problem, or use another embedder")
}

func (m *Remote) keyHint() string {
	if m.key == "" {
		return "put a proxy that adds its key in front of it, or use another embedder; deskhand has no variable for this key"
	}
	return "check the key in the environment variable " + m.key
}
