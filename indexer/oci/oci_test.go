package oci

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/oci/registrytest"
	"github.com/deskhand/deskhand/runtime/fault"
)

func TestReferences(t *testing.T) {
	for address, want := range map[string]string{
		"ghcr.io/acme/docs/cobra:1.9.1":       "oci://ghcr.io/acme/docs/cobra:1.9.1",
		"oci://ghcr.io/acme/docs/cobra":       "oci://ghcr.io/acme/docs/cobra:latest",
		"oci://127.0.0.1:5000/a:b":            "oci://127.0.0.1:5000/a:b",
		"OCI://[::1]:5000/a:1":                "oci://[::1]:5000/a:1",
		"[::1]:5000/a":                        "oci://[::1]:5000/a:latest",
		"h/a:1@sha256:" + zeros:               "oci://h/a@sha256:" + zeros,
		"":                                    "",
		"ghcr.io":                             "",
		"https://ghcr.io/acme/x":              "",
		"oci://me:secret@ghcr.io/acme/x":      "",
		"oci://ghcr.io/Acme/x":                "",
		"oci://ghcr.io/../x":                  "",
		"oci://ghcr.io/a:b/c":                 "",
		"oci://ghcr.io/a@sha256:0":            "",
		"-o/x":                                "",
		"oci://ghcr.io/a\nb":                  "",
		"oci://ghcr.io?x=/a":                  "",
		"oci://169.254.169.254%2f@ghcr.io/aa": "",
	} {
		r, err := Parse(address)
		if want == "" {
			if fault.Of(err) == nil || fault.Of(err).Code != "bad_source" || strings.Contains(err.Error(), "\n") {
				t.Errorf("Parse(%q) = %v, %v", address, r, err)
			}
			continue
		}
		if err != nil || r.String() != want {
			t.Errorf("Parse(%q) = %v, %v, want %s", address, r, err, want)
		}
	}
	for address, want := range map[string]bool{"oci://h/a": true, "Oci://h/a": true, "OCI://h/a": true, "h/a": false, "oci:/": false, "": false} {
		if IsAddress(address) != want {
			t.Errorf("IsAddress(%q) is %v", address, !want)
		}
	}
	r, _ := Parse("h/a:1")
	if at, err := r.At("sha256:" + zeros); err != nil || !at.IsDigest() || at.String() != "oci://h/a@sha256:"+zeros {
		t.Errorf("At = %v, %v", at, err)
	}
	if _, err := r.At("2"); fault.Of(err) == nil {
		t.Errorf("At(2): %v", err)
	}
	for address, want := range map[string]bool{"localhost:5000/a": true, "127.0.0.1/a": true, "[::1]:5000/a": true, "a.localhost/a": true, "10.0.0.1/a": false, "registry/a": false, "localhost.example.com/a": false} {
		if r, err := Parse(address); err != nil || r.isThisMachine() != want {
			t.Errorf("isThisMachine(%s) = %v, %v", address, !want, err)
		}
	}
}

const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

// build is an index of a library with one page of text.
func build(t testing.TB, text string, l artifact.Library) string {
	t.Helper()
	docs, out := t.TempDir(), filepath.Join(t.TempDir(), "index")
	if err := os.WriteFile(filepath.Join(docs, "a.md"), []byte("# Alpha\n\n"+text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	if _, err := indexer.Build(t.Context(), indexer.Options{Dir: docs, Out: out, Library: &l}); err != nil {
		t.Fatal(err)
	}
	return out
}

func parse(t testing.TB, address string) Reference {
	t.Helper()
	r, err := Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// data is the content of the data file of an index.
func data(t testing.TB, dir string) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "index-*.idx"))
	if err != nil || len(found) != 1 {
		t.Fatalf("data files of %s: %v, %v", dir, found, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func wantFault(t *testing.T, err error, code string, parts ...string) {
	t.Helper()
	f := fault.Of(err)
	if f == nil || f.Code != code || f.Hint == "" {
		t.Fatalf("got %v, want fault %s with a hint", err, code)
	}
	for _, part := range parts {
		if !strings.Contains(f.Message+"\n"+f.Hint, part) {
			t.Errorf("%q is not in: %s\n%s", part, f.Message, f.Hint)
		}
	}
}

// A library goes to a real registry and comes back the same, and what is there is
// not sent again.
func TestARealRegistry(t *testing.T) {
	host := registrytest.Start(t, false)
	registrytest.Login(t, host, "")
	l := artifact.Library{Name: "alpha", Version: "1.0", Source: "https://example.com/alpha.git#v1.0", Path: "docs", Revision: strings.Repeat("ab", 20), Licence: "MIT"}
	dir := build(t, "Retries back off.", l)
	to := parse(t, host+"/libs/alpha:1.0")
	first, err := Push(t.Context(), dir, to, Options{})
	if err != nil || first.Sent != first.Bytes || first.Unchanged || first.Reference != to.String() {
		t.Fatalf("pushed %+v, %v", first, err)
	}
	if again, err := Push(t.Context(), dir, to, Options{}); err != nil || !again.Unchanged || again.Sent != 0 || again.Digest != first.Digest {
		t.Errorf("pushed again %+v, %v", again, err)
	}
	noted, err := Push(t.Context(), dir, parse(t, host+"/libs/alpha:noted"), Options{Annotations: map[string]string{"org.opencontainers.image.source": "https://example.com/else"}})
	if err != nil || noted.Sent != 0 || noted.Digest == first.Digest {
		t.Errorf("layers that are there are sent again: %+v, %v", noted, err)
	}
	found, err := Find(t.Context(), to, Options{})
	if err != nil || found.Digest != first.Digest {
		t.Fatalf("found %+v, %v", found, err)
	}
	var got bytes.Buffer
	if err := found.Fetch(t.Context(), &got); err != nil || !bytes.Equal(got.Bytes(), data(t, dir)) {
		t.Errorf("fetched %d bytes, %v, and not those of the index", got.Len(), err)
	}
	if m := found.Metadata.Library; m.Name != "alpha" || m.Source != l.Source || m.Licence != "MIT" {
		t.Errorf("the library says %+v", m)
	}
	at, err := to.At(first.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if byDigest, err := Find(t.Context(), at, Options{}); err != nil || byDigest.Digest != first.Digest {
		t.Errorf("by digest: %v", err)
	}
	if _, err := Find(t.Context(), to, Options{Known: first.Digest}); !errors.Is(err, ErrUnchanged) {
		t.Errorf("a known digest: %v", err)
	}
	_, err = Find(t.Context(), parse(t, host+"/libs/alpha:2"), Options{})
	wantFault(t, err, "registry_missing", host+"/libs/alpha:2")
	_, err = Push(t.Context(), dir, at, Options{})
	wantFault(t, err, "bad_source", "tag")
}

// The same library made on two machines has the same digest, and nothing of them
// is in it.
func TestTheDigestIsOfTheLibraryAlone(t *testing.T) {
	var digests []string
	for _, source := range []string{t.TempDir(), t.TempDir(), "file:///home/me/docs.git#v1", `C:\Users\me\docs`} {
		index, err := artifact.Open(build(t, "Same.", artifact.Library{Name: "handbook", Source: source, Path: ".", Texts: source == `C:\Users\me\docs`}))
		if err != nil {
			t.Fatal(err)
		}
		p, err := pack(*index.Metadata(), nil)
		if err := errors.Join(err, index.Close()); err != nil {
			t.Fatal(err)
		}
		digests = append(digests, p.of.Digest.String())
		for _, private := range []string{filepath.ToSlash(source), "Users", os.TempDir()} {
			if bytes.Contains(p.manifest, []byte(private)) || bytes.Contains(p.metadata, []byte(private)) {
				t.Errorf("%s is published", private)
			}
		}
	}
	for _, d := range digests {
		if d != digests[0] {
			t.Errorf("digests differ: %v", digests)
			break
		}
	}
}

// Annotations say what is known, and nothing else.
func TestAnnotations(t *testing.T) {
	index, err := artifact.Open(build(t, "Text.", artifact.Library{Name: "alpha", Version: "1.0", Source: "https://example.com/alpha.git#v1.0", Revision: strings.Repeat("ab", 20), Licence: "MIT"}))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	got := annotations(*index.Metadata())
	for key, want := range map[string]string{
		"org.opencontainers.image.title": "alpha", "org.opencontainers.image.version": "1.0", "org.opencontainers.image.licenses": "MIT",
		"org.opencontainers.image.source": "https://example.com/alpha.git", "org.opencontainers.image.revision": strings.Repeat("ab", 20),
		"org.opencontainers.image.created": "2023-11-14T22:13:20.000Z", "com.github.deskhand.pages": "1", "com.github.deskhand.chunks": "1",
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	m := *index.Metadata()
	m.Stats.IndexedAt, m.Stats.SourceCommit = nil, nil
	m.Library = &artifact.Library{Name: "dep", Source: "dep:go/example.com/dep", Revision: "deps-1"}
	got = annotations(m)
	for _, key := range []string{"version", "licenses", "source", "revision", "created"} {
		if v, has := got["org.opencontainers.image."+key]; has {
			t.Errorf("%s is %q, of which nothing is known", key, v)
		}
	}
}

// Credentials are those of docker: of config.json, or of the helper that it names.
func TestSigningIn(t *testing.T) {
	host := registrytest.Start(t, true)
	dir := build(t, "Secret.", artifact.Library{Name: "alpha"})
	to := parse(t, host+"/libs/alpha:1")
	for what, password := range map[string]string{"nobody": "", "a wrong password": "wrong"} {
		t.Run(what, func(t *testing.T) {
			registrytest.Login(t, host, password)
			_, err := Push(t.Context(), dir, to, Options{})
			wantFault(t, err, "registry_denied", "docker login "+host)
			_, err = Find(t.Context(), to, Options{})
			wantFault(t, err, "registry_denied", "docker login "+host)
		})
	}
	t.Run("config.json", func(t *testing.T) {
		registrytest.Login(t, host, registrytest.Password)
		if _, err := Push(t.Context(), dir, to, Options{}); err != nil {
			t.Fatal(err)
		}
		l, err := Find(t.Context(), to, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Fetch(t.Context(), io.Discard); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a helper", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("NOT TESTED: the helper is a script of the shell")
		}
		bin, config := t.TempDir(), t.TempDir()
		script := "#!/bin/sh\nread host\n[ \"$1\" = get ] && [ \"$host\" = " + host + " ] || exit 1\nprintf '{\"Username\":\"" + registrytest.User + "\",\"Secret\":\"" + registrytest.Password + "\"}'\n"
		put(t, filepath.Join(bin, "docker-credential-oftests"), script, 0o700)
		put(t, filepath.Join(config, "config.json"), `{"credHelpers":{"`+host+`":"oftests"}}`, 0o600)
		t.Setenv("DOCKER_CONFIG", config)
		t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		if _, err := Push(t.Context(), dir, to, Options{}); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(config, "config.json"), `{"credHelpers":{"`+host+`":"missing"}}`, 0o600)
		_, err := Push(t.Context(), dir, to, Options{})
		wantFault(t, err, "registry_denied", "helper")
		put(t, filepath.Join(config, "config.json"), `{`, 0o600)
		_, err = Push(t.Context(), dir, to, Options{})
		wantFault(t, err, "registry_denied", "config.json")
	})
}

func put(t *testing.T, file, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// What is damaged on this disk is not published.
func TestADamagedIndexIsNotPushed(t *testing.T) {
	dir := build(t, "Text.", artifact.Library{Name: "alpha"})
	file := filepath.Join(dir, artifact.MetadataFile)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, strings.Replace(string(b), `"corpus_description": "`, `"corpus_description": "edited `, 1), 0o644)
	_, err = Push(t.Context(), dir, parse(t, "127.0.0.1:1/a"), Options{})
	wantFault(t, err, "artifact_damaged", "corpus_description")
}

// Without TLS goes only what the person asked for.
func TestPlainHTTPIsAskedFor(t *testing.T) {
	closed := &transport{host: "hub.example.com"}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://hub.example.com/v2/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := closed.RoundTrip(request); !errors.Is(err, errDowngrade) {
		t.Errorf("a request without TLS: %v", err)
	}
	for address, want := range map[string]bool{"127.0.0.1:5000/a": true, "localhost/a": true, "10.0.0.1/a": false, "ghcr.io/a": false} {
		if repo, err := repository(parse(t, address), Options{}); err != nil || repo.PlainHTTP != want {
			t.Errorf("%s without TLS: %v, %v", address, !want, err)
		}
	}
	if repo, err := repository(parse(t, "ghcr.io/a"), Options{PlainHTTP: true}); err != nil || !repo.PlainHTTP {
		t.Errorf("asked for: %v", err)
	}
	if err := redirect(&http.Request{URL: request.URL}, []*http.Request{{URL: parseURL(t, "https://hub.example.com")}}); !errors.Is(err, errDowngrade) {
		t.Errorf("a redirection to plain http: %v", err)
	}
}
