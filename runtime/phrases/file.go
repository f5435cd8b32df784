// Package phrases writes the phrases file, which holds everyday phrasings for
// the chunks of an index: see indexer.Phrases.
//
// A Plan lists the sections without phrases and the sections that have changed
// since their phrases were written. The sections that questions are most likely
// about come first. The phrases come from a model (Remote), from coding agents (Agents) or
// from questions that people asked (FromGaps). Each phrase is checked before it
// is added to the File.
package phrases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/runtime/fault"
)

// File is a phrases file that can be read and changed. It may be used
// concurrently. Saving keeps changes that other programs have made to the file in
// the meantime, except for chunks that were set here.
type File struct {
	path string

	mu    sync.Mutex
	lines map[string]line
	// changed holds the lines set since Open or the last save, by chunk ID. A
	// nil line was removed.
	changed map[string]*line
	// saved is the time of the last save, and took is how long that save took.
	saved time.Time
	took  time.Duration
}

// line is a line of the file. A person wrote it if it has no digest.
type line struct {
	ID      string   `json:"chunk_id"`
	Phrases []string `json:"phrases"`
	Digest  string   `json:"digest,omitempty"`
}

// maxBytes is the maximum size of a phrases file, in bytes.
const maxBytes = 64 << 20

// Open reads the file at path. If the file is missing, it counts as empty. Open
// returns a fault with code "bad_phrases" if a line is invalid, because rewriting
// the file would lose that line.
func Open(path string) (*File, error) {
	f := &File{path: path, changed: map[string]*line{}}
	var err error
	f.lines, err = f.read()
	return f, err
}

// PathIn returns the path of the phrases file named in dir's metadata.json. If
// that names none, it returns the path of phrases.jsonl in dir.
func PathIn(dir string) string {
	if docs, metadata, err := indexer.Find(dir); err == nil {
		if path, err := indexer.PhrasesPath(indexer.Options{Dir: docs, MetadataPath: metadata}); err == nil && path != "" {
			return path
		}
	}
	return filepath.Join(dir, "phrases.jsonl")
}

// Path returns the file's path.
func (f *File) Path() string { return f.path }

func (f *File) read() (map[string]line, error) {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]line{}, nil
	}
	if err == nil && (info.IsDir() || info.Size() > maxBytes) {
		return nil, fault.New("bad_phrases", fmt.Sprintf("%s is not a phrases file: it is a folder, or larger than 64 MiB", f.path), "pass another file")
	}
	var src []byte
	if err == nil {
		src, err = os.ReadFile(f.path)
	}
	if err != nil {
		return nil, fmt.Errorf("read phrases: %w", err)
	}
	parsed, problems := indexer.ParsePhrases(f.path, src)
	if len(problems) > 0 {
		return nil, fault.New("bad_phrases", problems[0].String(), "fix or delete that line; deskhand rewrites the file and would lose the line")
	}
	lines := make(map[string]line, len(parsed.Of))
	for id, list := range parsed.Of {
		lines[id] = line{id, list, parsed.Digests[id]}
	}
	return lines, nil
}

// get returns a chunk's line.
func (f *File) get(id string) (line, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.lines[id]
	return l, ok
}

// ids returns the IDs of the chunks that have a line, sorted.
func (f *File) ids() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.lines))
}

// set replaces a chunk's line. Save writes it to the file.
func (f *File) set(l line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines[l.ID] = l
	f.changed[l.ID] = &l
}

// drop removes a chunk's line.
func (f *File) drop(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.lines, id)
	f.changed[id] = nil
}

// saveShare limits the time spent on saving to about 1/saveShare of the total
// time, so a large file is not rewritten after every answer.
const saveShare = 20

// Save writes the file atomically if anything has changed. If end is false, it
// may leave writing the file to a later call.
func (f *File) Save(end bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.changed) == 0 || !end && time.Since(f.saved) < saveShare*f.took {
		return nil
	}
	began := time.Now()
	now, err := f.read()
	if err != nil {
		return err
	}
	for id, l := range f.changed {
		if l == nil {
			delete(now, id)
		} else {
			now[id] = *l
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, id := range slices.Sorted(maps.Keys(now)) {
		if err := enc.Encode(now[id]); err != nil {
			return fmt.Errorf("encode phrases: %w", err)
		}
	}
	if err := replace(f.path, b.Bytes()); err != nil {
		return fmt.Errorf("write phrases: %w", err)
	}
	f.lines, f.saved, f.took = now, time.Now(), time.Since(began)
	clear(f.changed)
	return nil
}

// replace writes a temporary file in the same folder and renames it to path. If
// path is a symbolic link, replace writes the link's target.
func replace(path string, b []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(b)
	if err == nil {
		err = temp.Chmod(mode)
	}
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
