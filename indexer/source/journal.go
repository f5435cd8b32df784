package source

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
)

// journal keeps the pages of a site between visits: a line for each in a file that
// only grows during a visit, and their bodies by digest. A kill loses the page
// that was on its way.
type journal struct {
	dir   string
	known map[string]entry
	seen  map[string]bool // in this visit
	file  *os.File
}

// entry is a page that was brought.
type entry struct {
	Loc      string `json:"loc,omitempty"`
	Changed  string `json:"changed,omitempty"` // as the sitemap had it
	Kind     string `json:"kind,omitempty"`
	Ending   string `json:"ending,omitempty"` // empty: it is no page
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Body     string `json:"body,omitempty"` // SHA-256
	// Done marks the end of a visit that was not interrupted.
	Done bool `json:"done,omitempty"`

	fresh bool // of a visit that did not end
}

// openJournal opens what is kept of a site.
func openJournal(start *url.URL, o Options) (*journal, error) {
	cache := o.Cache
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			dir = os.TempDir()
		}
		cache = filepath.Join(dir, "deskhand")
	}
	sum := sha256.Sum256([]byte(start.String()))
	j := &journal{dir: filepath.Join(cache, "sites", hex.EncodeToString(sum[:16])), known: map[string]entry{}, seen: map[string]bool{}}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep pages of %s: %w", start, err)
	}
	if err := j.read(); err != nil {
		return nil, fmt.Errorf("read kept pages of %s: %w", start, err)
	}
	f, err := os.OpenFile(j.path(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep pages of %s: %w", start, err)
	}
	j.file = f
	return j, nil
}

func (j *journal) path() string { return filepath.Join(j.dir, "pages.jsonl") }

func (j *journal) close() { _ = j.file.Close() } // each line was written at once

// read reads the lines; one that a kill cut short is passed over.
func (j *journal) read() error {
	f, err := os.Open(j.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e entry
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		if e.Done {
			for loc, old := range j.known {
				old.fresh = false
				j.known[loc] = old
			}
			continue
		}
		e.fresh = true
		j.known[e.Loc] = e
	}
	return lines.Err()
}

func (j *journal) bodyPath(e entry) string { return filepath.Join(j.dir, e.Body) }

// body is what is kept of e, if it is kept whole. What is no page has none.
func (j *journal) body(e entry) ([]byte, bool) {
	if e.Ending == "" {
		return nil, true
	}
	b, err := os.ReadFile(j.bodyPath(e))
	sum := sha256.Sum256(b)
	return b, err == nil && hex.EncodeToString(sum[:]) == e.Body
}

// note keeps a page. body is nil if it is kept already.
func (j *journal) note(e entry, body []byte) (entry, error) {
	if body != nil && e.Ending != "" {
		sum := sha256.Sum256(body)
		e.Body = hex.EncodeToString(sum[:])
		temp := j.bodyPath(e) + fmt.Sprintf(".%d", os.Getpid())
		err := os.WriteFile(temp, body, 0o600)
		if err == nil {
			err = os.Rename(temp, j.bodyPath(e))
		}
		if err != nil {
			return e, &keepError{err}
		}
	}
	j.known[e.Loc] = e
	if _, err := j.file.Write(e.line()); err != nil {
		return e, &keepError{err}
	}
	return e, nil
}

// line is an entry as a line.
func (e entry) line() []byte {
	b, _ := json.Marshal(e) // strings have a JSON form
	return append(b, '\n')
}

// keepError says that a page cannot be kept, which ends a visit.
type keepError struct{ error }

// finished ends a visit: the next one asks for each page whether it changed. The
// journal becomes what this one saw, and what it did not see is deleted.
func (j *journal) finished() error {
	var all []byte
	used := map[string]bool{filepath.Base(j.path()): true}
	for _, loc := range slices.Sorted(maps.Keys(j.seen)) {
		if e, known := j.known[loc]; known {
			all = append(all, e.line()...)
			used[e.Body] = true
		}
	}
	all = append(all, entry{Done: true}.line()...)
	temp := j.path() + fmt.Sprintf(".%d", os.Getpid())
	err := os.WriteFile(temp, all, 0o600)
	if err == nil {
		j.close()
		err = os.Rename(temp, j.path())
	}
	if err != nil {
		return fmt.Errorf("keep the pages of a site: %w", err)
	}
	kept, _ := os.ReadDir(j.dir) // what stays is deleted the next time
	for _, f := range kept {
		if !used[f.Name()] {
			_ = os.Remove(filepath.Join(j.dir, f.Name()))
		}
	}
	return nil
}
