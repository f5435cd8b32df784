package oci

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/oci/registrytest"
)

// stranger is a registry with one library that can lie in each answer.
type stranger struct {
	packed
	index []byte
	lie   atomic.Pointer[lie]
}

// lie answers instead; false: the truth is told. what is "manifest", "metadata" or
// "index".
type lie func(w http.ResponseWriter, r *http.Request, what string) bool

// tell begins to lie; nil: the truth is told.
func (s *stranger) tell(l lie) { s.lie.Store(&l) }

func (s *stranger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what, body, kind := "", []byte(nil), "application/octet-stream"
	switch {
	case strings.Contains(r.URL.Path, "/manifests/"):
		what, body, kind = "manifest", s.manifest, ocispec.MediaTypeImageManifest
	case strings.HasSuffix(r.URL.Path, s.described.Digest.String()):
		what, body = "metadata", s.metadata
	case strings.HasSuffix(r.URL.Path, s.indexed.Digest.String()):
		what, body = "index", s.index
	}
	if l := s.lie.Load(); l != nil && *l != nil && (*l)(w, r, what) {
		return
	}
	if what == "" {
		http.NotFound(w, r)
		return
	}
	answer(w, kind, body)
}

func answer(w http.ResponseWriter, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // who is gone does not read it
}

// strange starts a registry of the index in dir.
func strange(t *testing.T, dir string) (*stranger, Reference) {
	t.Helper()
	index, err := artifact.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	s := &stranger{index: data(t, dir)}
	if s.packed, err = pack(*index.Metadata(), nil); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	registrytest.Login(t, "", "")
	return s, parse(t, strings.TrimPrefix(server.URL, "http://")+"/libs/alpha:1")
}

// take pulls a library into a folder, as a shelf does.
func take(t *testing.T, r Reference, into string, o Options) error {
	l, err := Find(t.Context(), r, o)
	if err != nil {
		return err
	}
	return artifact.Receive(into, l.Metadata, func(w io.Writer) error { return l.Fetch(t.Context(), w) })
}

// manifestWith is the manifest of s with a change.
func (s *stranger) manifestWith(t *testing.T, change func(*ocispec.Manifest)) []byte {
	t.Helper()
	var m ocispec.Manifest
	if err := json.Unmarshal(s.manifest, &m); err != nil {
		t.Fatal(err)
	}
	change(&m)
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// on lies about one thing.
func on(which string, lie func(w http.ResponseWriter, r *http.Request)) func(http.ResponseWriter, *http.Request, string) bool {
	return func(w http.ResponseWriter, r *http.Request, what string) bool {
		if what == which {
			lie(w, r)
		}
		return what == which
	}
}

func flipped(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)/2] ^= 1
	return b
}

// endless sends b, and then more than was said.
func endless(b []byte) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
		if r.Method == http.MethodHead {
			w.Header().Set("Docker-Content-Digest", digest.FromBytes(b).String())
			answer(w, ocispec.MediaTypeImageManifest, b)
			return
		}
		for r.Context().Err() == nil {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	}
}

// told is a lie, and the code of the fault that it gives.
type told struct {
	lie  lie
	code string
}

// lies are all that are tried, by what is sent.
func (s *stranger) lies(t *testing.T) map[string]told {
	manifest := func(b []byte) func(http.ResponseWriter, *http.Request, string) bool {
		return on("manifest", func(w http.ResponseWriter, _ *http.Request) { answer(w, ocispec.MediaTypeImageManifest, b) })
	}
	changed := func(change func(*ocispec.Manifest)) func(http.ResponseWriter, *http.Request, string) bool {
		return manifest(s.manifestWith(t, change))
	}
	blob := func(which string, b []byte) func(http.ResponseWriter, *http.Request, string) bool {
		return on(which, func(w http.ResponseWriter, _ *http.Request) { answer(w, "application/octet-stream", b) })
	}
	return map[string]told{
		"a header with another digest": {on("manifest", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Docker-Content-Digest", "sha256:"+zeros)
			answer(w, ocispec.MediaTypeImageManifest, s.manifest)
		}), "bad_artifact"},
		"a manifest that is none":     {manifest([]byte("{")), "bad_artifact"},
		"an endless manifest":         {on("manifest", endless(s.manifest)), "bad_artifact"},
		"a manifest of 1 GB, it says": {on("manifest", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1000000000") }), "registry_failed"},
		"an image":                    {changed(func(m *ocispec.Manifest) { m.ArtifactType = "" }), "bad_artifact"},
		"an index of images": {on("manifest", func(w http.ResponseWriter, _ *http.Request) {
			answer(w, ocispec.MediaTypeImageIndex, []byte(`{"schemaVersion":2,"manifests":[]}`))
		}), "bad_artifact"},
		"one layer":                    {changed(func(m *ocispec.Manifest) { m.Layers = m.Layers[:1] }), "bad_artifact"},
		"metadata of 1 TB":             {changed(func(m *ocispec.Manifest) { m.Layers[0].Size = 1 << 40 }), "bad_artifact"},
		"an index of 1 PB":             {changed(func(m *ocispec.Manifest) { m.Layers[1].Size = 1 << 50 }), "bad_artifact"},
		"a negative size":              {changed(func(m *ocispec.Manifest) { m.Layers[1].Size = -1 }), "bad_artifact"},
		"a digest that is a path":      {changed(func(m *ocispec.Manifest) { m.Layers[0].Digest = "sha256:../../../secrets" }), "bad_artifact"},
		"another index":                {changed(func(m *ocispec.Manifest) { m.Layers[1].Digest = digest.Digest("sha256:" + zeros) }), "bad_artifact"},
		"a larger index":               {changed(func(m *ocispec.Manifest) { m.Layers[1].Size++ }), "bad_artifact"},
		"other metadata":               {blob("metadata", flipped(s.metadata)), "bad_artifact"},
		"shorter metadata":             {blob("metadata", s.metadata[1:]), "bad_artifact"},
		"endless metadata":             {on("metadata", endless(s.metadata)), "bad_artifact"},
		"metadata that is not there":   {on("metadata", func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }), "registry_missing"},
		"another index under its name": {blob("index", flipped(s.index)), "bad_artifact"},
		"a shorter index":              {blob("index", s.index[:100]), "bad_artifact"},
		"a shorter index, not counted": {on("index", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(s.index[:100])
			w.(http.Flusher).Flush()
		}), "bad_artifact"},
		"an endless index":       {on("index", endless(s.index)), "bad_artifact"},
		"an index that is cut":   {on("index", func(w http.ResponseWriter, _ *http.Request) { cut(t, w, s.index) }), "bad_artifact"},
		"an error with controls": {on("manifest", func(w http.ResponseWriter, _ *http.Request) { denied(w, http.StatusBadRequest) }), "registry_failed"},
		"no access":              {on("manifest", func(w http.ResponseWriter, _ *http.Request) { denied(w, http.StatusForbidden) }), "registry_denied"},
	}
}

// Each lie of a registry is refused, and the library that was there stays as it
// was, with nothing beside it.
func TestAttackRegistriesThatLie(t *testing.T) {
	old := build(t, "The old text.", artifact.Library{Name: "alpha"})
	s, r := strange(t, build(t, "The new text, which is longer.", artifact.Library{Name: "alpha"}))
	for what, c := range s.lies(t) {
		t.Run(what, func(t *testing.T) {
			s.tell(c.lie)
			into := filepath.Join(t.TempDir(), "library")
			if err := os.CopyFS(into, os.DirFS(old)); err != nil {
				t.Fatal(err)
			}
			before := listed(t, into)
			err := take(t, r, into, Options{})
			wantFault(t, err, c.code)
			if strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("the registry writes to the terminal: %q", err)
			}
			if after := listed(t, into); after != before || !bytes.Equal(data(t, into), data(t, old)) {
				t.Errorf("the folder had %s and has %s", before, after)
			}
		})
	}
	s.tell(nil)
	into := filepath.Join(t.TempDir(), "library")
	if err := take(t, r, into, Options{}); err != nil || !bytes.Equal(data(t, into), s.index) {
		t.Errorf("the truth is refused: %v", err)
	}
}

// listed are the names in a folder.
func listed(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// cut says all and sends half, and ends the connection.
func cut(t *testing.T, w http.ResponseWriter, b []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b[:len(b)/2])
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	c.Close()
}

func denied(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, `{"errors":[{"code":"DENIED","message":"\u001b[2Jno\nhint: run rm -rf /"}]}`)
}

// The digest in a reference is what counts, whatever the registry answers.
func TestAttackRegistriesAnotherManifest(t *testing.T) {
	s, r := strange(t, build(t, "Text.", artifact.Library{Name: "alpha"}))
	other := s.manifestWith(t, func(m *ocispec.Manifest) { m.Annotations["org.opencontainers.image.title"] = "other" })
	at, err := r.At(s.of.Digest.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range []string{"", s.of.Digest.String(), digest.FromBytes(other).String()} {
		s.tell(on("manifest", func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set("Docker-Content-Digest", header)
			}
			answer(w, ocispec.MediaTypeImageManifest, other)
		}))
		_, err := Find(t.Context(), at, Options{})
		wantFault(t, err, "bad_artifact", "digest")
	}
}

// A registry cannot lead elsewhere: not to this machine, not to addresses that
// nothing of ours is at, not with its token service either.
func TestAttackRegistriesRedirections(t *testing.T) {
	var reached atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer target.Close()
	s, r := strange(t, build(t, "Text.", artifact.Library{Name: "alpha"}))
	for _, to := range []string{target.URL, strings.Replace(target.URL, "127.0.0.1", "localhost", 1), "http://169.254.169.254/latest/meta-data", "http://[fe80::1]/", "http://10.1.2.3/"} {
		for _, what := range []string{"manifest", "metadata", "index"} {
			s.tell(on(what, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) }))
			err := take(t, r, filepath.Join(t.TempDir(), "library"), Options{})
			wantFault(t, err, "registry_failed", "without redirects")
		}
		s.tell(on("manifest", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+to+`",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}))
		_, err := Find(t.Context(), r, Options{})
		wantFault(t, err, "registry_failed")
	}
	s.tell(on("manifest", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) }))
	_, err := Find(t.Context(), r, Options{})
	wantFault(t, err, "registry_failed", "redirects")
	if reached.Load() != 0 {
		t.Error("a registry led to a server on this machine")
	}
}

// A registry in a network of its own may use its neighbours, as for tokens, but
// not this machine.
func TestRegistriesOfANetwork(t *testing.T) {
	for address, want := range map[string]bool{"10.1.2.3:443": true, "[fd12::1]:443": true, "127.0.0.1:443": false, "[::1]:443": false, "1.1.1.1:443": false} {
		var tr transport
		tr.located(address)
		if tr.near.Load() != want {
			t.Errorf("near after %s: %v", address, !want)
		}
	}
}

// A registry that stops is given up, before it answers and in the middle.
func TestAttackRegistriesThatHang(t *testing.T) {
	s, r := strange(t, build(t, "Text.", artifact.Library{Name: "alpha"}))
	for what, lie := range map[string]func(http.ResponseWriter, *http.Request, string) bool{
		"before":       on("manifest", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"in the index": on("index", func(w http.ResponseWriter, r *http.Request) { begin(w, s.index); <-r.Context().Done() }),
	} {
		t.Run(what, func(t *testing.T) {
			s.tell(lie)
			into := filepath.Join(t.TempDir(), "library")
			err := take(t, r, into, Options{idle: 50 * time.Millisecond})
			wantFault(t, err, "registry_failed", "stopped")
		})
	}
	// A push to one that never says whether it has it.
	s.tell(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		switch r.Method {
		case http.MethodHead:
			http.NotFound(w, r)
		case http.MethodPost:
			w.Header().Set("Location", "/v2/libs/alpha/blobs/uploads/1")
			w.WriteHeader(http.StatusAccepted)
		default: // takes all, and says nothing
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}
		return true
	})
	_, err := Push(t.Context(), build(t, "Text.", artifact.Library{Name: "alpha"}), r, Options{idle: 50 * time.Millisecond})
	wantFault(t, err, "registry_failed", "stopped")
}

func begin(w http.ResponseWriter, b []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = w.Write(b[:10])
	w.(http.Flusher).Flush()
}

// The password goes to the registry alone, and not where it redirects.
func TestAttackRegistriesThePassword(t *testing.T) {
	s, r := strange(t, build(t, "Text.", artifact.Library{Name: "alpha"}))
	registrytest.Login(t, r.ref.Registry, registrytest.Password)
	var asked, elsewhere atomic.Int32
	s.tell(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Header.Get("Authorization") == "" {
			asked.Add(1)
			w.Header().Set("WWW-Authenticate", `Bearer realm="http://token.example.com/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		elsewhere.Add(1)
		return false
	})
	_, err := Find(t.Context(), r, Options{})
	wantFault(t, err, "registry_failed")
	if asked.Load() == 0 || elsewhere.Load() != 0 {
		t.Errorf("asked %d times, with credentials %d times", asked.Load(), elsewhere.Load())
	}
	if errors.Is(err, errIdle) || strings.Contains(err.Error(), registrytest.Password) {
		t.Errorf("the error is %v", err)
	}
}

// Not even another port or a subdomain of the registry gets its token.
func TestAttackRegistriesTheTokenElsewhere(t *testing.T) {
	got := map[string]string{}
	client := http.Client{CheckRedirect: redirect, Transport: hosts(func(w http.ResponseWriter, r *http.Request) {
		got[r.URL.Host] = r.Header.Get("Authorization")
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	})}
	for _, to := range []string{"https://registry.example/b", "https://registry.example:8443/b", "https://blobs.registry.example/b", "https://other.example/?to=https://registry.example:8444/"} {
		r, err := http.NewRequest(http.MethodGet, "https://registry.example/?to="+url.QueryEscape(to), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer secret")
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	if len(got) != 5 {
		t.Errorf("asked %v", got)
	}
	for host, token := range got {
		if (token != "") != (host == "registry.example") {
			t.Errorf("%s got %q", host, token)
		}
	}
}

// hosts is a transport that leads to one handler.
type hosts http.HandlerFunc

func (h hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

func parseURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Some registries have no repository before somebody creates it.
func TestNoRepositoryToPushTo(t *testing.T) {
	s, r := strange(t, build(t, "Text.", artifact.Library{Name: "alpha"}))
	s.tell(func(w http.ResponseWriter, r *http.Request, _ string) bool { http.NotFound(w, r); return true })
	_, err := Push(t.Context(), build(t, "Text.", artifact.Library{Name: "alpha"}), r, Options{})
	wantFault(t, err, "registry_missing", "create the repository")
}
