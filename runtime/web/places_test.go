package web

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestPlacesFollowMemoryAndFiles(t *testing.T) {
	for _, c := range []struct {
		memory, files uint64
		want          int
	}{
		{512 << 20, 1 << 20, 1024},
		{4 << 30, 1 << 20, 8192},
		{4 << 30, 1024, 672}, // an eighth of the other files is for other connections
		{16 << 20, 1 << 20, leastPlaces},
		{4 << 30, 10, leastPlaces},
	} {
		if got := placesFor(c.memory, c.files); got != c.want {
			t.Errorf("placesFor(%d MiB, %d files) = %d, want %d", c.memory>>20, c.files, got, c.want)
		}
	}
}

func TestPlacesHaveABound(t *testing.T) {
	if got := NewPlaces(placesFor(1<<62, 1<<62)).conns(); got < 1<<20 {
		t.Errorf("without limits there are %d connections", got)
	}
}

// Beyond the places, what would be held is refused, and all else is answered.
func TestHeldRequestsBeyondThePlacesAreRefused(t *testing.T) {
	opts := guardedOptions
	opts.Places, opts.Held = NewPlaces(2), map[string]bool{"/stream": true}
	rt := run(t, opts)
	stream := "POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n" + right + "\r\n\r\n{}"
	first, _ := rt.dial(t, stream), rt.dial(t, stream)
	<-rt.calls
	<-rt.calls
	r, body := rt.ask(t, "POST", "/stream", "{}", right)
	if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || !strings.Contains(body, "busy") {
		t.Errorf("a third stream = %s %v %s, want 503 with Retry-After", r.Status, r.Header, body)
	}
	for range 5 {
		if r, body := rt.ask(t, "GET", "/healthz", ""); r.StatusCode != http.StatusOK {
			t.Errorf("/healthz beside it = %s %s", r.Status, body)
		}
		if r, body := rt.ask(t, "POST", "/mcp", "{}", right); r.StatusCode != http.StatusOK {
			t.Errorf("a request that is not held = %s %s", r.Status, body)
		}
	}
	first.Close()
	waittest.Until(t, "a place is free", func() (bool, any) {
		c := rt.dial(t, stream)
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(waittest.Patience))
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.HasPrefix(line, "HTTP/1.1 200"), line
	})
}
