//go:build unix

package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deskhand/deskhand/indexer/oci/registrytest"
)

// stalling is next, which sends only half of an index while stalls is true, and
// then closes halfway.
func stalling(next http.Handler, stalls *atomic.Bool, halfway chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !stalls.Load() || r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") {
			next.ServeHTTP(w, r)
			return
		}
		whole := httptest.NewRecorder()
		next.ServeHTTP(whole, r)
		if whole.Body.Len() < 10_000 { // the metadata
			_, _ = w.Write(whole.Body.Bytes())
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(whole.Body.Len()))
		_, _ = io.CopyN(w, whole.Body, int64(whole.Body.Len()/2))
		w.(http.Flusher).Flush()
		close(halfway)
		<-r.Context().Done()
	}
}

// A pull that is killed in the middle of the index leaves the old library, and the
// next one begins anew.
func TestAKilledPullLeavesTheOldLibrary(t *testing.T) {
	host := registrytest.Start(t, false)
	registrytest.Login(t, host, "")
	to, err := url.Parse("http://" + host)
	if err != nil {
		t.Fatal(err)
	}
	stalls, halfway := &atomic.Bool{}, make(chan struct{})
	front := httptest.NewServer(stalling(httputil.NewSingleHostReverseProxy(to), stalls, halfway))
	t.Cleanup(front.Close)
	ref := strings.TrimPrefix(front.URL, "http://") + "/handbook:main"
	docs := t.TempDir()
	publish := func(marker string) {
		t.Helper()
		write(t, docs, endpoints(300))
		write(t, docs, map[string]string{"marker.md": "# Marker\n\nThe marker is " + marker + ".\n"})
		maker := newMachine(t)
		maker.run(docs, "add", docs, "--name", "handbook")
		maker.run(docs, "push", "handbook", ref)
	}
	reader, dir := newMachine(t), t.TempDir()
	publish("zebra")
	reader.run(dir, "add", "oci://"+ref)
	publish("okapi")
	stalls.Store(true)
	killed := reader.command(dir, "update")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	<-halfway
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // killed
	if got := reader.run(dir, "search", "what is the marker"); !strings.Contains(got, "zebra") {
		t.Errorf("after a kill, the search says\n%s", got)
	}
	stalls.Store(false)
	reader.run(dir, "update")
	if got := reader.run(dir, "search", "what is the marker"); !strings.Contains(got, "okapi") {
		t.Errorf("after the next update, the search says\n%s", got)
	}
	left, err := filepath.Glob(filepath.Join(reader.home, "data", "deskhand", "shelf", "handbook", "*"))
	hidden, failed := filepath.Glob(filepath.Join(reader.home, "data", "deskhand", "shelf", "handbook", ".build-*"))
	if err := errors.Join(err, failed); err != nil || len(left) != 3 || len(hidden) != 0 {
		t.Errorf("the library has %v and %v, %v", left, hidden, err)
	}
}
