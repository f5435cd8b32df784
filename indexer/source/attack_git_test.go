package source

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Nothing that a repository has, and nothing that the person's own git would run
// for one, runs: hooks, filters of Git LFS, submodules by a helper program.
func TestAttackSourcesGitRunsNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: there is no shell for hooks and filters")
	}
	marks := t.TempDir()
	ran := func(name string) string { return "touch " + filepath.Join(marks, name) }
	hooks := t.TempDir()
	for _, hook := range []string{"post-checkout", "post-merge", "reference-transaction", "post-index-change", "fsmonitor-watchman"} {
		if err := os.WriteFile(filepath.Join(hooks, hook), []byte("#!/bin/sh\n"+ran("hook-"+hook)+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := repository(t)
	// A link that git would make, a submodule that is really there, and files of LFS.
	if err := os.Symlink("/etc", filepath.Join(dir, "docs", "etc")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{
		".gitattributes": "*.md filter=lfs text eol=crlf\ndocs/b.md filter=own working-tree-encoding=UTF-16\n", "docs/b.md": "# B $Id$\n", ".gitmodules": "[submodule \"s\"]\n\tpath = docs/s\n\turl = ext::" + ran("ext") + "\n",
		".lfsconfig": "[lfs]\n\turl = http://127.0.0.1:1/\n",
	})
	git(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+git(t, dir, "rev-parse", "HEAD")+",docs/s")
	git(t, dir, "update-index", "--add", "--cacheinfo", "100644,"+object(t, dir, "# B $Id$\n", "hash-object", "-w", "--stdin")+",docs/b.md")
	git(t, dir, "add", "docs/etc", ".gitattributes", ".gitmodules", ".lfsconfig")
	git(t, dir, "commit", "-q", "-m", "three")
	git(t, dir, "tag", "v3.0.0")

	global := filepath.Join(t.TempDir(), "config")
	write(t, filepath.Dir(global), map[string]string{"config": "[core]\n\thooksPath = " + hooks + "\n\tfsmonitor = " + filepath.Join(hooks, "fsmonitor-watchman") + "\n[init]\n\ttemplateDir = " + filepath.Dir(hooks) +
		"\n[submodule]\n\trecurse = true\n[protocol \"ext\"]\n\tallow = always\n[filter \"lfs\"]\n\tsmudge = " + ran("smudge") + "\n\tprocess = " + ran("process") + "\n\trequired = true\n" +
		"[filter \"own\"]\n\tsmudge = " + ran("own-smudge") + "\n\tprocess = " + ran("own-process") + "\n\trequired = true\n"})
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	s, err := Open(t.Context(), dir+"#v3.0.0", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, want := range map[string]string{"a.md": "# Two\n", "b.md": "# B $Id$\n"} {
		if b, err := os.ReadFile(filepath.Join(s.Dir, name)); err != nil || string(b) != want {
			t.Errorf("%s is %q, %v; want it as in the repository", name, b, err)
		}
	}
	if info, err := os.Lstat(filepath.Join(s.Dir, "etc")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("a link of the repository: %v, %v", info, err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Dir, "s")); err == nil && len(left) > 0 {
		t.Errorf("the submodule has %v", left)
	}
	if made, err := os.ReadDir(marks); err != nil || len(made) > 0 {
		t.Errorf("ran: %v, %v", made, err)
	}
}

// publishedOverHTTP serves the repository in dir as git's own server does.
func publishedOverHTTP(t *testing.T, dir string) http.Handler {
	return &cgi.Handler{Path: filepath.Join(git(t, dir, "--exec-path"), "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}}
}

// A server redirects git, too, only to the internet or within its own host.
func TestAttackSourcesGitRedirects(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "config"))
	dir := repository(t)
	var asked atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		publishedOverHTTP(t, dir).ServeHTTP(w, r)
	}))
	defer inside.Close()
	port := inside.URL[strings.LastIndexByte(inside.URL, ':'):]
	for _, to := range []string{"http://localhost" + port, "http://[::ffff:127.0.0.1]" + port, "http://0x7f000001" + port, "http://169.254.169.254", "https://localhost" + port} {
		first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to+r.RequestURI, http.StatusFound)
		}))
		s, err := Open(t.Context(), first.URL+"/.git#v1.0.0", Options{})
		if f := fault.Of(err); f == nil || f.Code != "source_failed" || asked.Load() != 0 {
			t.Errorf("git followed a redirect to %s, %d requests: %v", to, asked.Load(), err)
			s.Close()
		} else if !strings.Contains(err.Error(), "it redirects to ") && !strings.Contains(to, "0x") { // which git's library may not take for an address
			t.Errorf("a redirect to %s: %v; want an error that names it", to, err)
		}
		first.Close()
	}

	for _, scheme := range []string{"http", "https"} {
		if _, err := Open(t.Context(), scheme+"://127.0.0.1:1/x.git", Options{}); err == nil || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "502") {
			t.Errorf("%s to a closed port: %v; want an error that says so", scheme, err)
		}
	}

	renamed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, old := strings.CutPrefix(r.RequestURI, "/old"); old {
			http.Redirect(w, r, name, http.StatusMovedPermanently)
			return
		}
		publishedOverHTTP(t, dir).ServeHTTP(w, r)
	}))
	defer renamed.Close()
	s, err := Open(t.Context(), renamed.URL+"/old/.git#v1.0.0", Options{})
	if err != nil {
		t.Fatalf("a renamed repository: %v", err)
	}
	s.Close()
}

// What git sends over TLS passes the proxy, and nobody else can use it.
func TestGitProxy(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "reached") }))
	defer server.Close()
	p, err := startGitProxy(t.Context(), server.URL)
	if err != nil || p == nil {
		t.Fatalf("startGitProxy = %v, %v", p, err)
	}
	own, err := url.Parse(p.address)
	if err != nil {
		t.Fatal(err)
	}
	get := func(through *url.URL, at string) (string, error) {
		transport := server.Client().Transport.(*http.Transport).Clone()
		transport.Proxy = http.ProxyURL(through)
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Get(at)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		return answer.Status + " " + string(b), err
	}
	if got, err := get(own, server.URL); err != nil || got != "200 OK reached" {
		t.Errorf("through the proxy: %q, %v", got, err)
	}
	if _, err := get(own, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)); err == nil || p.failure() == nil {
		t.Errorf("another name of this machine: %v, refused %v", err, p.failure())
	}
	stranger := *own
	stranger.User = url.UserPassword("deskhand", "guess")
	if got, err := get(&stranger, server.URL); err == nil {
		t.Errorf("with another password: %q", got)
	}
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(own)
	held, err := (&http.Client{Transport: transport}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Body.Close()
	p.Close() // ends the open connection and returns
	if _, err := get(own, server.URL); err == nil {
		t.Error("the proxy works after Close")
	}
	for _, address := range []string{"ssh://git@example.com/x.git", "git://example.com/x.git", "/srv/x"} {
		if p, err := startGitProxy(t.Context(), address); p != nil || err != nil {
			t.Errorf("a proxy for %s: %v, %v", address, p, err)
		}
	}
}
