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

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/filelock"
)

// journal stores a site's pages between visits. It has a file with one line per page,
// and a folder with the page bodies, whose names are their digests. During a visit,
// lines are only appended to the file. If the process is killed, only the page that is
// being downloaded is lost. One process at a time has it open.
type journal struct {
	dir   string
	known map[string]entry
	seen  map[string]bool // pages seen in this visit
	file  *os.File
	lock  *os.File // outside of dir, so that it is never deleted while it is locked
}

// entry is a page that was downloaded.
type entry struct {
	Loc      string `json:"loc,omitempty"`
	Changed  string `json:"changed,omitempty"` // the date in the sitemap
	Kind     string `json:"kind,omitempty"`
	Ending   string `json:"ending,omitempty"` // extension, or empty if the response was not a page
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Body     string `json:"body,omitempty"` // SHA-256 of the body
	NoIndex  bool   `json:"noindex,omitempty"`
	// Done marks the end of a completed visit.
	Done bool `json:"done,omitempty"`

	fresh bool // downloaded in an interrupted visit
}

// openJournal opens and locks the journal for a site. It returns fault "locked" if
// another visit to the site is in progress.
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
		return nil, fmt.Errorf("save pages of %s: %w", start, err)
	}
	lock, err := filelock.Lock(j.dir + ".lock")
	if errors.Is(err, filelock.ErrLocked) {
		return nil, &fault.Fault{Code: "locked", Message: fmt.Sprintf("another process is downloading %s", start),
			Hint: "wait until it finishes, then retry", Retryable: true}
	}
	if err != nil {
		return nil, fmt.Errorf("lock saved pages of %s: %w", start, err)
	}
	j.lock = lock
	if err := j.open(); err != nil {
		j.close()
		return nil, fmt.Errorf("read saved pages of %s: %w", start, err)
	}
	return j, nil
}

// open reads the file and opens it for this visit.
func (j *journal) open() (err error) {
	if err = j.read(); err == nil {
		j.file, err = os.OpenFile(j.path(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	return err
}

func (j *journal) path() string { return filepath.Join(j.dir, "pages.jsonl") }

// close unlocks the journal. No flush is needed, because each line is written
// immediately.
func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close()
	}
	_ = j.lock.Close()
}

// read reads the lines of the file. It skips a line that was truncated when a
// process was killed.
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

// body returns the stored body of e, or false if it is missing or damaged. If the
// entry is not a page, it has no body.
func (j *journal) body(e entry) ([]byte, bool) {
	if e.Ending == "" {
		return nil, true
	}
	b, err := os.ReadFile(j.bodyPath(e))
	sum := sha256.Sum256(b)
	return b, err == nil && hex.EncodeToString(sum[:]) == e.Body
}

// note stores a page. If body is nil, the body is already stored.
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

// line returns the entry as a line of the file.
func (e entry) line() []byte {
	b, _ := json.Marshal(e) // encoding strings cannot fail
	return append(b, '\n')
}

// keepError is returned if a page cannot be stored. The visit then ends.
type keepError struct{ error }

// finished completes a visit. Afterwards, the journal contains only the pages of this
// visit, and all other pages are deleted. On the next visit, the server is asked for
// each page whether it has changed.
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
		_ = j.file.Close() // Windows does not replace an open file
		err = os.Rename(temp, j.path())
	}
	if err != nil {
		return fmt.Errorf("save the pages of a site: %w", err)
	}
	kept, _ := os.ReadDir(j.dir) // the next visit deletes the files that remain
	for _, f := range kept {
		if !used[f.Name()] {
			_ = os.Remove(filepath.Join(j.dir, f.Name()))
		}
	}
	return nil
}
