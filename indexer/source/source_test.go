package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// write puts files below dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository has two tags, and at each of them files that can do harm.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	write(t, dir, map[string]string{
		"docs/a.md": "# One\n", "src/big.bin": "not for docs", "README.md": "# Repo\n", "LICENSE": "Apache License\n  Version 2.0, January 2004\n",
		".gitattributes": "*.md filter=evil\n", ".gitmodules": "[submodule \"s\"]\n\tpath = s\n\turl = ext::touch owned\n",
	})
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "one")
	git(t, dir, "tag", "v1.0.0")
	write(t, dir, map[string]string{"docs/a.md": "# Two\n"})
	git(t, dir, "commit", "-q", "-a", "-m", "two")
	git(t, dir, "tag", "-a", "-m", "two", "v2.0.0")
	return dir
}

func TestRepositoriesAtARevision(t *testing.T) {
	dir := repository(t)
	s, err := Open(t.Context(), dir+"#v1.0.0", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if b, err := os.ReadFile(filepath.Join(s.Dir, "a.md")); err != nil || string(b) != "# One\n" {
		t.Errorf("a.md is %q, %v", b, err)
	}
	if s.Path != "docs" || s.Version != "1.0.0" || s.Name != filepath.Base(dir) || s.Licence != "Apache-2.0" || s.Revision != git(t, dir, "rev-parse", "v1.0.0") {
		t.Errorf("source %+v", s)
	}
	if _, err := os.Stat(filepath.Join(s.Root, "src")); !os.IsNotExist(err) {
		t.Errorf("files beside the docs were fetched: %v", err)
	}
	root := s.Root
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("the copy stays: %v", err)
	}

	// By http, as from a forge that only has files.
	bare := filepath.Join(t.TempDir(), "docs.git")
	git(t, t.TempDir(), "clone", "-q", "--bare", dir, bare)
	git(t, bare, "update-server-info")
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(bare))))
	defer server.Close()
	if _, err := Open(t.Context(), server.URL+"/missing.git#v1", Options{}); fault.Of(err) == nil || fault.Of(err).Code != "source_failed" {
		t.Errorf("a repository that is not there: %v", err)
	}
	if _, err := Open(t.Context(), dir+"#v2.0.0", Options{Known: git(t, dir, "rev-parse", "v2.0.0^{commit}")}); !errors.Is(err, ErrUnchanged) {
		t.Errorf("a tag that did not move: %v", err)
	}
	if _, err := Open(t.Context(), dir+"#none", Options{}); fault.Of(err) == nil || fault.Of(err).Code != "source_failed" {
		t.Errorf("a tag that is not there: %v", err)
	}
}

func TestAttackSourcesAddresses(t *testing.T) {
	dir := repository(t)
	for _, address := range []string{
		"", " ", "--upload-pack=touch owned", "ext::sh -c id", "EXT::x", "site:ext::x", "fd::17", "::x", "git-x+y.z::https://example.com/", "file://" + dir, "-x", "gopher://example.com/x",
		dir + "#--upload-pack=touch", dir + "#a..b", "https://example.com/a\nb", filepath.Join(dir, "none"),
	} {
		if _, err := Open(t.Context(), address, Options{}); fault.Of(err) == nil || fault.Of(err).Code != "bad_source" {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := Open(t.Context(), "FILE://"+dir+"#v1.0.0", Options{}); fault.Of(err) == nil || !strings.Contains(err.Error(), "--allow-file") {
		t.Errorf("file:// in capitals: %v", err)
	}
	for _, address := range []string{"https://[::1]:1/docs.git#v1", "https://example.com/std::vector.md", "git@[::1]:docs.git"} {
		if err := check(address, Options{}); err != nil {
			t.Errorf("%s, which names no program: %v", address, err)
		}
	}
	for _, p := range []string{"../..", "/etc", "-x", "docs/../.."} {
		if _, err := Open(t.Context(), dir, Options{Path: p}); fault.Of(err) == nil || fault.Of(err).Code != "bad_source" {
			t.Errorf("--path %q: %v", p, err)
		}
	}
	for p, link := range map[string]string{"link": "docs", "on/way/docs": "../.."} {
		if err := os.MkdirAll(filepath.Join(dir, "on"), 0o755); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, strings.TrimSuffix(filepath.FromSlash(p), filepath.FromSlash("/docs")))
		if err := os.Symlink(link, at); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), dir, Options{Path: p}); fault.Of(err) == nil || !strings.Contains(err.Error(), "' in "+dir+" is a link") {
			t.Errorf("--path %q, through a link: %v", p, err)
		}
	}
	s, err := Open(t.Context(), "file://"+dir+"#v1.0.0", Options{AllowFile: true})
	if err != nil {
		t.Fatalf("file:// that is allowed: %v", err)
	}
	s.Close()
	if shown := WithoutPassword("https://me:secret@example.com/x.git"); strings.Contains(shown, "secret") {
		t.Errorf("shown with the password: %s", shown)
	}
}

func TestVersionsOfTags(t *testing.T) {
	for tag, want := range map[string]string{
		"v1.2.3": "1.2.3", "1.2": "1.2", "pkg@2.0.0-rc.1": "2.0.0-rc.1", "release-3.1": "3.1", "main": "", "deadbeef": "", "2024": "2024",
		"next/v16.0.3": "16.0.3", "feature-x": "",
	} {
		if got := versionOf(tag); got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
	}
}

// tarball makes a .tar.gz of headers, each with its content.
func tarball(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range entries {
		content := []byte("# " + h.Name + "\n")
		if h.Typeflag == 0 || h.Typeflag == tar.TypeReg {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(content))
		}
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write(content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAttackSourcesArchives(t *testing.T) {
	dir := t.TempDir()
	good := tarball(t, tar.Header{Name: "cobra-1.9.1/docs/a.md"}, tar.Header{Name: "cobra-1.9.1/README.md"},
		tar.Header{Name: "../../owned.md"}, tar.Header{Name: "/etc/owned.md"}, tar.Header{Name: "cobra-1.9.1/docs/link.md", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		tar.Header{Name: "cobra-1.9.1/docs/device", Typeflag: tar.TypeChar}, tar.Header{Name: `cobra-1.9.1\..\..\..\owned.md`})
	write(t, dir, map[string]string{"cobra-1.9.1.tar.gz": string(good)})
	check := func(address string) {
		t.Helper()
		s, err := Open(t.Context(), address, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if s.Name != "cobra" || s.Version != "1.9.1" || s.Path != "docs" || !strings.HasPrefix(s.Digest, "sha256:") {
			t.Errorf("%s: %+v", address, s)
		}
		var files []string
		_ = filepath.WalkDir(s.temp.Path, func(path string, d os.DirEntry, _ error) error {
			if !d.IsDir() && d.Name() != "archive" {
				rel, _ := filepath.Rel(s.temp.Path, path)
				files = append(files, filepath.ToSlash(rel))
			}
			return nil
		})
		if got := strings.Join(files, " "); got != "source/cobra-1.9.1/README.md source/cobra-1.9.1/docs/a.md" {
			t.Errorf("%s: unpacked %s", address, got)
		}
	}
	check(filepath.Join(dir, "cobra-1.9.1.tar.gz"))
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	check(server.URL + "/cobra-1.9.1.tar.gz")
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "owned.md")); err == nil {
		t.Error("a file was written outside")
	}

	var zipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	for _, name := range []string{"a.md", "../b.md"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("# A\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"notes.zip": zipped.String(), "broken.zip": zipped.String()[:40]})
	s, err := Open(t.Context(), filepath.Join(dir, "notes.zip"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "notes" || !hasDocs(s.Dir, IsPage) {
		t.Errorf("zip: %+v", s)
	}
	s.Close()
	for _, name := range []string{"broken.zip"} {
		if _, err := Open(t.Context(), filepath.Join(dir, name), Options{}); fault.Of(err) == nil || fault.Of(err).Code != "source_failed" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAttackSourcesBombs(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	const size = ratioFrom + 1<<20
	// A name that is not even kept.
	if err := w.WriteHeader(&tar.Header{Name: "../bomb.md", Typeflag: tar.TypeReg, Size: size, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range size >> 20 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: "a.md", Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"bomb.tar.gz": b.String()})
	if _, err := Open(t.Context(), filepath.Join(dir, "bomb.tar.gz"), Options{}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a bomb of %d bytes: %v", b.Len(), err)
	}
}

func TestAttackSourcesRedirects(t *testing.T) {
	inside := httptest.NewServer(http.NotFoundHandler())
	defer inside.Close()
	first := httptest.NewServer(http.RedirectHandler(inside.URL+"/x.zip", http.StatusFound))
	defer first.Close()
	if _, err := Open(t.Context(), first.URL+"/x.zip", Options{}); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("followed to another host of this machine: %v", err)
	}
}
