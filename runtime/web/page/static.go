package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// asset is a file that pages refer to.
type asset struct {
	version string // changes when the content changes
	kind    string
	plain   []byte
	packed  func() []byte // plain compressed, once a request asks for it
}

// StaticPath is the path at which to mount [Shell.Static].
const StaticPath = "/static/"

// Add adds the files of a folder, without subfolders. It panics if a name is
// already used, or if its extension is not one that pages refer to.
func (s *Shell) Add(files fs.FS) {
	names, err := fs.Glob(files, "*.*")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		if _, taken := s.assets[name]; taken {
			panic("two files " + name)
		}
		sum := sha256.Sum256(data)
		s.assets[name] = asset{hex.EncodeToString(sum[:6]), kindOf(name), data, sync.OnceValue(func() []byte { return pack(data) })}
	}
}

// worker is the service worker, which is for all pages and not only for its folder.
const worker = "worker.js"

// File returns the text of an added file, for a page that contains everything
// itself. It panics if the name was not added.
func (s *Shell) File(name string) string {
	a, ok := s.assets[name]
	if !ok {
		panic("no file " + name)
	}
	return string(a.plain)
}

func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".png":
		return "image/png"
	case ".svg":
		return "image/svg+xml"
	case ".webmanifest":
		return "application/manifest+json"
	}
	panic("no type for " + name)
}

func pack(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // no error: the level is valid
	_, _ = w.Write(data)                                  // writing to a buffer cannot fail
	_ = w.Close()
	return b.Bytes()
}

// url returns a file's address. The address includes the version, so that browsers
// can cache the file.
func (s *Shell) url(name string) string { return StaticPath + name + "?v=" + s.assets[name].version }

// Static serves the added files. The files contain no secrets, because even the
// sign-in page needs them.
func (s *Shell) Static() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := s.assets[strings.TrimPrefix(r.URL.Path, StaticPath)]
		if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", a.kind)
		h.Set("Vary", "Accept-Encoding")
		if r.URL.Path == StaticPath+worker {
			h.Set("Service-Worker-Allowed", "/")
		}
		if r.URL.Query().Get("v") == a.version {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		body := a.plain
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			body = a.packed()
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(body) // ignore the error: the client may be gone
		}
	})
}
