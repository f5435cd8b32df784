package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/runtime/fault"
)

// No part of a password is shown or recorded, however the address is written.
func TestAttackSourcesPasswords(t *testing.T) {
	for address, want := range map[string]string{
		"https://me:secret@example.com/x.git#v1":  "https://example.com/x.git#v1",
		"https://me:se%cret@example.com/x.git":    "https://example.com/x.git",
		"https://me:sec ret@example.com/x.git":    "https://example.com/x.git",
		"https://me:sec@ret@example.com:8/x.git":  "https://example.com:8/x.git",
		"https://token@example.com/x.git":         "https://example.com/x.git",
		"HTTPS://token@example.com/x.git":         "HTTPS://example.com/x.git",
		"site:https://me:secret@example.com/docs": "site:https://example.com/docs",
		"site:ssh://me:secret@example.com/docs":   "site:ssh://example.com/docs",
		"ssh://git:secret@example.com/x.git":      "ssh://example.com/x.git",
		"ssh://git@example.com/x.git":             "ssh://git@example.com/x.git",
		"git@example.com:x.git":                   "git@example.com:x.git",
		"https://example.com/docs@1:2/x.zip":      "https://example.com/docs@1:2/x.zip",
		"https://example.com?by=me:x@y":           "https://example.com?by=me:x@y",
		"./me:x@y":                                "./me:x@y",
	} {
		if got := WithoutPassword(address); got != want {
			t.Errorf("WithoutPassword(%q) = %q, want %q", address, got, want)
		}
	}
	for _, address := range []string{"https://me:se%cret@127.0.0.1:1/x.git#v1", "http://me:se%cret@127.0.0.1:1/x.zip", "site:http://me:se%cret@127.0.0.1:1/", "site:ssh://me:se%cret@x/"} {
		if _, err := Open(t.Context(), address, Options{clock: &testClock{now: time.Unix(1e9, 0)}, Cache: t.TempDir()}); err == nil || strings.Contains(fmt.Sprint(err, fault.Of(err)), "cret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// object stores an object of git.
func object(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// tag makes a commit of a tree, with a tag.
func tag(t *testing.T, dir, name, tree string) {
	t.Helper()
	git(t, dir, "tag", name, git(t, dir, "commit-tree", "-m", name, tree))
}

// A few objects of a repository can be billions of files, or any number of bytes.
func TestAttackSourcesGitBombs(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	entry, of := "100644 blob ", object(t, dir, "# A\n", "hash-object", "-w", "--stdin")
	for range 8 {
		tree := ""
		for i := range 10 {
			tree += fmt.Sprintf("%s%s\t%s%d.md\n", entry, of, strings.Repeat("n", 100), i)
		}
		entry, of = "040000 tree ", object(t, dir, tree, "mktree")
	}
	tag(t, dir, "v1", of)
	if _, err := Open(t.Context(), dir+"#v1", Options{}); fault.Of(err) == nil || !strings.Contains(err.Error(), "too many files") {
		t.Errorf("a hundred million names: %v", err)
	}

	blob, tree := object(t, dir, "# B\n"+strings.Repeat("b", 1<<20), "hash-object", "-w", "--stdin"), ""
	for i := range 40 {
		tree += fmt.Sprintf("100644 blob %s\t%d.md\n", blob, i)
	}
	tag(t, dir, "v2", object(t, dir, tree, "mktree"))
	for what, g := range map[string]gitCalls{
		"too many bytes": {mostFiles: 1000, mostBytes: 20 << 20},
		"too many files": {mostFiles: 30, mostBytes: 1 << 30},
		"":               {mostFiles: 1000, mostBytes: 1 << 30},
	} {
		g.address, g.shown, g.local, g.dir = dir, dir, true, filepath.Join(t.TempDir(), "source")
		_, err := g.checkout(t.Context(), "v2", "")
		if refused := fault.Of(err) != nil && strings.Contains(err.Error(), "too large"); refused != (what != "") {
			t.Errorf("a checkout with %s: %v", what, err)
		}
	}
}

// Docs in an archive whose names no file can have are counted, and the others are read.
func TestAttackSourcesArchiveNames(t *testing.T) {
	dir := t.TempDir()
	headers := []tar.Header{
		{Name: strings.Repeat("n", 300) + ".md"}, {Name: strings.Repeat("d", 300) + "/a.md"}, {Name: strings.Repeat("long/", 200) + "a.md"}, {Name: strings.Repeat("p", 300) + ".png"},
		{Name: "file.md"}, {Name: "file.md/below.md"}, {Name: "folder.html/a.md"}, {Name: "folder.html"}, {Name: strings.Repeat("k", 252) + ".md"},
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, h := range append(headers, tar.Header{Name: "nul\x00.md"}) {
		if _, err := z.Create(h.Name); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"names.tar.gz": string(tarball(t, headers...)), "names.zip": b.String()})
	for name, want := range map[string]string{
		"names.tar.gz": "left out: 3 .md (its name is too long), 1 .html (its name cannot be that of a file), 1 .md (its name cannot be that of a file)",
		"names.zip":    "left out: 3 .md (its name is too long), 2 .md (its name cannot be that of a file), 1 .html (its name cannot be that of a file)",
	} {
		s := opened(t, filepath.Join(dir, name), Options{})
		if got := formats.LeftOut(s.LeftOut); got != want || filesOf(t, s) != "file.md folder.html/a.md "+headers[8].Name {
			t.Errorf("%s: %s, files %s", name, got, filesOf(t, s))
		}
	}
}

// Entries of an archive that are no files make none, and folders count.
func TestAttackSourcesArchivesWithOddEntries(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	write(t, dir, map[string]string{"odd.tar.gz": string(tarball(t,
		tar.Header{Name: "hard.md", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"},
		tar.Header{Name: "out", Typeflag: tar.TypeSymlink, Linkname: outside},
		tar.Header{Name: "out/through.md"},
		tar.Header{Name: "pipe.md", Typeflag: tar.TypeFifo},
		tar.Header{Name: "inner.zip"},
	))})
	s := opened(t, filepath.Join(dir, "odd.tar.gz"), Options{})
	if got := filesOf(t, s); got != "inner.zip out/through.md" {
		t.Errorf("unpacked %s", got)
	}
	if there, err := os.ReadDir(outside); err != nil || len(there) > 0 {
		t.Errorf("written through a link: %v, %v", there, err)
	}

	u := &unpacker{root: t.TempDir(), entries: maxEntries - 5, folders: map[string]bool{}}
	if err := u.file("a/b/c/d/x.md", strings.NewReader("# X\n")); err != nil {
		t.Errorf("four folders: %v", err)
	}
	if err := u.file("a/b/c/d/y.md", strings.NewReader("# Y\n")); err != nil {
		t.Errorf("the same folders again: %v", err)
	}
	if err := u.file("e/f/g.md", strings.NewReader("# G\n")); err == nil {
		t.Error("more folders than entries are allowed")
	}

	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("a.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(bytes.Repeat([]byte("# A\n"), 1000)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	lying := b.Bytes()
	at := bytes.Index(lying, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(lying[at+24:], 8) // of 4,000 bytes
	write(t, dir, map[string]string{"lying.zip": string(lying)})
	if _, err := Open(t.Context(), filepath.Join(dir, "lying.zip"), Options{}); fault.Of(err) == nil || fault.Of(err).Code != "source_failed" {
		t.Errorf("a zip file with a wrong size: %v", err)
	}

	for _, address := range []string{"http://docs.example.com/x.zip", "http://docs.example.com/page.md", "http://8.8.8.8/x.tar.gz"} {
		if _, err := Open(t.Context(), address, Options{}); fault.Of(err) == nil || fault.Of(err).Code != "bad_source" {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// What a server compresses counts with the size that it has here.
func TestAttackSourcesCompressedAnswers(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range maxDocument>>20 + 1 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	web := newWebServer(t)
	packed := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/markdown")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(b.Bytes()) // the client may have gone
	}
	web.pages["/bomb.md"] = packed
	web.has("/llms.txt", "text/plain", "[bomb](bomb.md)\n[next](next.md)")
	web.has("/next.md", "text/markdown", "# Next\n")
	s := opened(t, web.URL+"/llms.txt", Options{clock: &testClock{now: time.Unix(1e9, 0)}})
	if got := filesOf(t, s); got != "llms.md next.md" || formats.LeftOut(s.LeftOut) != "left out: 1 page (it is larger than 8 MB)" {
		t.Errorf("files %s, %s", got, formats.LeftOut(s.LeftOut))
	}
	if _, err := Open(t.Context(), web.URL+"/bomb.md", Options{}); fault.Of(err) == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file of %d bytes on the wire: %v", b.Len(), err)
	}
}

// Pages whose addresses cannot all be files do not end a visit.
func TestAttackSourcesPageNames(t *testing.T) {
	web := newWebServer(t)
	long := "/" + strings.Repeat("long/", 1000) + "end"
	pages := []string{"/a.html", "/a.html/b", "/c/d", "/c.html", "/e/f.html/g", "/e/f.html", long, "/" + strings.Repeat("x/", 3000)}
	sitemap := "<urlset>"
	for _, page := range pages {
		web.has(page, "text/html", "<main>A</main>")
		sitemap += "<url><loc>" + page + "</loc></url>"
	}
	web.has("/sitemap.xml", "text/xml", sitemap+"</urlset>")
	s := opened(t, "site:"+web.URL, Options{clock: &testClock{now: time.Unix(1e9, 0)}, Cache: t.TempDir()})
	files := strings.Fields(filesOf(t, s))
	if len(files) != 6 || strings.Join(files[:4], " ") != "a.html c.html c/d.html e/f.html/g.html" {
		t.Errorf("files %v", files)
	}
}

// A list of links and a text of headings are cut where a site is.
func TestAttackSourcesLongLists(t *testing.T) {
	web := newWebServer(t)
	const more = 15_000
	web.has("/llms-full.txt", "text/plain", strings.Repeat("# Same\n\ntext\n", maxWebPages+more))
	s := opened(t, web.URL+"/llms-full.txt", Options{})
	if got := len(strings.Fields(filesOf(t, s))); got != maxWebPages || len(s.LeftOut) != 1 || s.LeftOut[0] != (formats.Left{Ending: "page", Reason: fmt.Sprintf("more than %d", maxWebPages), Count: more}) {
		t.Errorf("%d pages, %v", got, s.LeftOut)
	}
	links, left := linksIn("[a](https://example.com/a) [b](b) [a](a) [c](c#x) [c](c#y) [d](d) [e](https://example.com/e)", mustParse(t, "https://example.com/llms.txt"), 3)
	if len(links) != 3 || links[2].Path != "/c" || left != 3 {
		t.Errorf("links %v and %d more", links, left)
	}
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
