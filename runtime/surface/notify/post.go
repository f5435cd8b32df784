package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/deskhand/deskhand/runtime/netguard"
	"github.com/deskhand/deskhand/runtime/outbox"
)

// httpTime is the timeout for one request.
const httpTime = 15 * time.Second

// Clients follow no redirects, because each message and key is meant for only one server.
// The owner sets the addresses, so they may be on this machine's network; a name of the
// internet must not lead there with a chat service's address, whose text comes from a web
// page.
var (
	insideClient  = newClient(netguard.Guard{Inside: true})
	outsideClient = newClient(netguard.Guard{})
)

func newClient(g netguard.Guard) *http.Client {
	return &http.Client{Transport: g.Transport(), Timeout: httpTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// client returns the client for the hook's address.
func (h Hook) client() *http.Client {
	if h.outside && !netguard.IsInside(h.target.String()) {
		return outsideClient
	}
	return insideClient
}

// maxResponse is how much of a response is read.
const maxResponse = 64 << 10

// do sends JSON and returns the response's body. Its errors do not contain the address,
// which may contain a secret, and say whether to repeat.
func (h Hook) do(ctx context.Context, method, to string, body []byte, header map[string]string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, outbox.Final(errors.New("create request: invalid address"))
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	response, err := h.client().Do(r)
	if failed, ok := err.(*url.Error); ok { //nolint:errorlint // Do always returns this type
		err = failed.Err
	}
	if refused := new(netguard.Refused); errors.As(err, &refused) {
		return nil, outbox.Final(fmt.Errorf("send: %w", err))
	}
	if err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	answered := answerError{response.StatusCode, response.Status}
	switch code := response.StatusCode; {
	case code/100 == 2 && err != nil:
		return nil, fmt.Errorf("read response: %w", err)
	case code/100 == 2:
		return data, nil
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return data, &outbox.Failure{Err: answered, After: retryAfter(response.Header, time.Now())}
	}
	return data, outbox.Final(answered)
}

// answerError is the error for a response that is no success.
type answerError struct {
	code   int
	status string
}

// Error implements [error].
func (e answerError) Error() string { return "it answered " + e.status }

// retryAfter reads the header Retry-After: seconds, also with a fraction, or a date. It
// returns 0 if there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return inSeconds(seconds)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// inSeconds returns a duration. Values that are no sensible pause become 0 or a day.
func inSeconds(n float64) time.Duration {
	if !(n > 0) { // NaN as well
		return 0
	}
	return time.Duration(min(n, 86400) * float64(time.Second))
}
