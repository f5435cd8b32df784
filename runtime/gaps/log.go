// Package gaps records questions for which a search found little, if the
// installation's owner agrees. It reports what the docs lack: the questions
// grouped by meaning, the nearest section, and a draft for the author.
//
// The record is a file of JSON lines in the state folder. Nothing leaves the
// machine.
package gaps

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/deskhand/deskhand/runtime/filelock"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

const (
	// fileName is the log's file name in the state folder.
	fileName = "search-log.jsonl"
	// maxBytes is the size in bytes at which a log is renamed to FILE.1,
	// replacing the previous FILE.1. At about 200 bytes per question, the two
	// files hold 40,000 questions.
	maxBytes = 4 << 20
	// maxQuestion is the maximum number of a question's bytes that are recorded.
	maxQuestion = 2000
)

// Entry is one question for which a search found little.
type Entry struct {
	At    time.Time `json:"at"`
	Query string    `json:"query"`
	// Filters holds facet keys and values, or nil if the question had none.
	Filters map[string]string `json:"filters,omitempty"`
	// Found is never [search.FoundSome].
	Found search.Found `json:"found"`
	// Index is the absolute path of the searched index's folder.
	Index string `json:"index"`
}

// Log is an installation's record file. Processes may add to it concurrently, and
// may be killed at any moment: each entry is appended with a single write, and a
// line that a killed process has begun does not spoil the next one.
type Log struct {
	path string
	mu   sync.Mutex
	now  func() time.Time
	max  int64 // maxBytes, except in tests
}

// In returns the log in the state folder. It does not open or create the file
// yet.
func In(state string) *Log {
	return &Log{path: filepath.Join(state, fileName), now: time.Now, max: maxBytes}
}

// Path returns the file's path. The file may not exist.
func (l *Log) Path() string { return l.path }

// Add records a question for which a search in index found little. It replaces
// secrets of well-known forms in the question, and truncates a long question.
// It does nothing if found is search.FoundSome.
func (l *Log) Add(index, query string, filters map[string]string, found search.Found) error {
	if found == search.FoundSome {
		return nil
	}
	if abs, err := filepath.Abs(index); err == nil {
		index = abs
	}
	query = string(logs.NewRedactor(nil).Redact([]byte(query)))
	for len(query) > maxQuestion || !utf8.ValidString(query) {
		cut := min(len(query)-1, maxQuestion)
		for cut > 0 && !utf8.RuneStart(query[cut]) {
			cut--
		}
		query = query[:cut]
	}
	line, err := json.Marshal(Entry{l.now().UTC().Truncate(time.Second), query, filters, found, index})
	if err != nil {
		return fmt.Errorf("encode a question: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.write(append(line, '\n')); err != nil {
		return fmt.Errorf("record a question with poor results: %w", err)
	}
	return nil
}

func (l *Log) write(line []byte) error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(line); err != nil {
		return err
	}
	if info, err := f.Stat(); err != nil || info.Size() < l.max {
		return err
	}
	_ = f.Close() // Windows cannot rename an open file
	return l.setAside()
}

// setAside renames the file if it is full and no other process is about to rename it.
// Without the lock, two processes could rename one file after the other, and the
// second file would replace the first one. The size decides whether it is still the
// full file: a new file may have the number (inode) of one that was deleted.
func (l *Log) setAside() error {
	lock, err := filelock.Lock(l.path + ".lock")
	if errors.Is(err, filelock.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if there, err := os.Stat(l.path); err != nil || there.Size() < l.max {
		return nil
	}
	return os.Rename(l.path, l.path+".1")
}

// Read returns the entries since the given time, oldest first, or all entries
// if since is zero. It skips unreadable lines, which a killed process may
// leave, and returns their number.
func (l *Log) Read(since time.Time) (entries []Entry, skipped int, err error) {
	// The current file is opened first: if it is renamed now, it is opened twice
	// instead of not at all.
	var files []*os.File
	var infos []fs.FileInfo
	for _, path := range []string{l.path, l.path + ".1"} {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read questions: %w", err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, 0, fmt.Errorf("read questions: %w", err)
		}
		files, infos = append(files, f), append(infos, info)
	}
	if len(files) == 2 && os.SameFile(infos[0], infos[1]) {
		files = files[:1]
	}
	for _, f := range slices.Backward(files) {
		some, bad, err := readEntries(f, since)
		if err != nil {
			return nil, 0, fmt.Errorf("read questions in %s: %w", f.Name(), err)
		}
		entries, skipped = append(entries, some...), skipped+bad
	}
	return entries, skipped, nil
}

// entryStart is how the JSON of every [Entry] starts. Inside of an entry it cannot
// occur, because JSON escapes quotation marks.
var entryStart = []byte(`{"at":"`)

func readEntries(r io.Reader, since time.Time) (entries []Entry, skipped int, err error) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if i := bytes.LastIndex(line, entryStart); i > 0 {
			skipped++
			line = line[i:]
		}
		if len(line) > 1 {
			var e Entry
			switch bad := json.Unmarshal(line, &e); {
			case bad != nil || e.Query == "" || e.Found == search.FoundSome || e.At.IsZero():
				skipped++
			case !e.At.Before(since):
				entries = append(entries, e)
			}
		}
		if err == io.EOF {
			return entries, skipped, nil
		}
		if err != nil {
			return nil, 0, err
		}
	}
}
