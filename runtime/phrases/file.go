// Package phrases writes the file of everyday phrasings that an index finds its
// chunks by: see indexer.Phrases.
//
// A Plan says which sections have none yet, or have changed since, the hardest to
// reach first. A model at an address (Remote), the coding agents of the bench
// (Agents) or the questions that people asked (FromGaps) give the phrases; every
// one of them is checked before it gets into the File.
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

// File is a file of phrases that is read and written. It may be used concurrently.
// What others write into the file meanwhile stays, except for the chunks that were
// set here.
type File struct {
	path string

	mu    sync.Mutex
	lines map[string]line
	// changed has the lines set since Open, by chunk; a nil one was taken out.
	changed map[string]*line
	// saved is when it was saved last, and took how long that took.
	saved time.Time
	took  time.Duration
}

// line is one line of the file. Without a digest a person wrote it.
type line struct {
	ID      string   `json:"chunk_id"`
	Phrases []string `json:"phrases"`
	Digest  string   `json:"digest,omitempty"`
}

// maxBytes is the size of a file that is read.
const maxBytes = 64 << 20

// Open reads the file at path, which need not exist. Fault "bad_phrases": a line is
// not valid, and writing the file would lose it.
func Open(path string) (*File, error) {
	f := &File{path: path, changed: map[string]*line{}}
	var err error
	f.lines, err = f.read()
	return f, err
}

// PathIn is the file that metadata.json in dir names, or else phrases.jsonl in dir.
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
		return nil, fault.New("bad_phrases", fmt.Sprintf("%s is not a file of phrases: it is a folder, or over 64 MiB", f.path), "name another file")
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
		return nil, fault.New("bad_phrases", problems[0].String(), "fix or delete that line: deskhand rewrites the file and would lose it")
	}
	lines := make(map[string]line, len(parsed.Of))
	for id, list := range parsed.Of {
		lines[id] = line{id, list, parsed.Digests[id]}
	}
	return lines, nil
}

// get is the line of a chunk.
func (f *File) get(id string) (line, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.lines[id]
	return l, ok
}

// ids are the chunks that have a line, sorted.
func (f *File) ids() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.lines))
}

// set gives a chunk its line. It is in the file after Save.
func (f *File) set(l line) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines[l.ID] = l
	f.changed[l.ID] = &l
}

// drop takes the line of a chunk out.
func (f *File) drop(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.lines, id)
	f.changed[id] = nil
}

// saveShare bounds the part of the time that saving takes: a file of many megabytes
// is not written again after every answer.
const saveShare = 20

// Save writes the file, if anything changed, as a whole or not at all. Unless at is
// the end, it may leave that to a later call.
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

// replace writes a file beside the one at path and renames it. A link stays one.
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
