package shelf

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/oci"
	"github.com/deskhand/deskhand/indexer/source"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Wanted is a library that a project's configuration lists. Source is required.
// If it is a relative path, it is relative to the process's working folder.
type Wanted struct {
	Name    string `json:"name" yaml:"name"`
	Version string `json:"version,omitempty" yaml:"version"`
	Source  string `json:"source" yaml:"source"`
	Path    string `json:"path,omitempty" yaml:"path"`
	// At is the path at which this process finds a local source. If At is empty,
	// Source is used.
	At string `json:"-" yaml:"-"`
}

// Locked is a wanted library together with its exact content.
type Locked struct {
	Wanted
	// Revision, Digest and Index correspond to the fields of Entry.
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Index    string `json:"index_sha256"`
}

// Lock is the content of a lock file, which teams commit to their repository.
type Lock struct {
	Libraries []Locked `json:"libraries"`
}

// ReadLock reads a lock file. It returns nil if the file does not exist, and fault
// "bad_lock" if it is invalid.
func ReadLock(path string) (*Lock, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the lock file: %w", err)
	}
	var l Lock
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return nil, fault.New("bad_lock", fmt.Sprintf("%s cannot be read: %v", path, err), "create it again: deskhand sync")
	}
	return &l, nil
}

// Write replaces the file at path atomically.
func (l Lock) Write(path string) error {
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".deskhand-lock-")
	if err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	defer os.Remove(f.Name()) // no effect after the rename
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	return nil
}

// shown returns what a lock file says of a library: without a password.
func (w Wanted) shown() Wanted {
	w.At, w.Source = "", source.WithoutPassword(w.Source)
	return w
}

// of returns the locked version of a library. If there is none, it returns false.
func (l *Lock) of(w Wanted) (Locked, bool) {
	if l == nil {
		return Locked{}, false
	}
	i := slices.IndexFunc(l.Libraries, func(k Locked) bool { return k.Wanted.shown() == w.shown() })
	if i < 0 {
		return Locked{}, false
	}
	return l.Libraries[i], true
}

// hasDigest returns fault "lock_mismatch" if the library's archive has another digest than
// the locked one. It accepts any digest if k is nil or has none.
func (k *Locked) hasDigest(name, version, digest string) error {
	if k == nil || k.Digest == "" || k.Digest == digest {
		return nil
	}
	return mismatch(fmt.Sprintf("%s does not match deskhand.lock: its archive has the digest %s instead of %s", idOf(name, version), digest, k.Digest))
}

// hasIndex returns fault "lock_mismatch" if the library's index is another than the locked
// one. It accepts any index if k is nil.
func (k *Locked) hasIndex(name, version string, i artifact.Index) error {
	if k == nil || k.Index == i.SHA256 {
		return nil
	}
	return mismatch(fmt.Sprintf("%s does not match deskhand.lock: its index has SHA-256 %s instead of %s", idOf(name, version), i.SHA256, k.Index))
}

func mismatch(message string) error {
	return fault.New("lock_mismatch", message, "check the changes in its source; if they are correct, run \"deskhand sync\" and commit deskhand.lock")
}

// lists returns an error if the configuration lists a library twice or, if strict is true,
// if the lock file does not have exactly the libraries that the configuration lists.
func (l *Lock) lists(wanted []Wanted, strict bool) error {
	seen := map[string]bool{}
	for _, w := range wanted {
		if id := idOf(w.Name, w.Version); seen[id] {
			return fault.New("bad_library", fmt.Sprintf("the library '%s' is listed twice", id), "give each library another name or version")
		} else {
			seen[id] = true
		}
	}
	if !strict {
		return nil
	}
	differs := func(format string, args ...any) error {
		return fault.New("lock_mismatch", fmt.Sprintf(format, args...), "run \"deskhand sync\" and commit deskhand.lock")
	}
	if l == nil {
		return differs("there is no deskhand.lock")
	}
	locked := map[string]bool{}
	for _, k := range l.Libraries {
		id := idOf(k.Name, k.Version)
		if locked[id] = true; !seen[id] {
			return differs("deskhand.lock has the library %s, which deskhand.yaml does not list", id)
		}
	}
	for _, w := range wanted {
		id := idOf(w.Name, w.Version)
		if !locked[id] {
			return differs("deskhand.yaml lists the library %s, which deskhand.lock does not have", id)
		}
		if _, same := l.of(w); !same {
			return differs("the library %s has another source in deskhand.yaml than in deskhand.lock", id)
		}
	}
	return nil
}

// Synced is the result of Sync.
type Synced struct {
	Results []Result
	Removed []string
	Lock    Lock
}

// Sync makes the shelf match wanted. It first adds missing libraries, then updates the
// others, and then removes the libraries that are not wanted. It keeps libraries that
// were built from dependencies, because these are listed in the lock files of other
// tools. If strict is true, each library must match lock. If a library cannot match, or
// if lock lists other libraries, Sync returns fault "lock_mismatch", and the library on the
// shelf does not change.
func (s Shelf) Sync(ctx context.Context, wanted []Wanted, lock *Lock, strict bool, o Options) (done Synced, err error) {
	ids := map[string]bool{}
	done.Lock.Libraries = []Locked{}
	if err := lock.lists(wanted, strict); err != nil {
		return done, err
	}
	for _, w := range wanted {
		if err := w.check(); err != nil {
			return done, err
		}
		known, _ := lock.of(w)
		r, err := s.one(ctx, w, known, strict, o)
		if err != nil {
			return done, err
		}
		ids[r.ID()] = true
		done.Results = append(done.Results, r)
		done.Lock.Libraries = append(done.Lock.Libraries, Locked{w.shown(), r.Revision, r.Digest, r.Index})
	}
	entries, _, err := s.List()
	if err != nil {
		return done, err
	}
	for _, e := range entries {
		if !ids[e.ID()] && !strings.HasPrefix(e.Source, MadePrefix) {
			if err := s.Remove(e); err != nil {
				return done, err
			}
			done.Removed = append(done.Removed, e.ID())
		}
	}
	return done, nil
}

func (w Wanted) check() error {
	if strings.TrimSpace(w.Source) == "" {
		return fault.New("bad_library", fmt.Sprintf("the library '%s' has no source", w.Name), "set source to a folder, an archive or a repository")
	}
	return CheckName(w.Name, w.Version)
}

// one adds or updates a library.
func (s Shelf) one(ctx context.Context, w Wanted, known Locked, strict bool, o Options) (Result, error) {
	o.Source, o.Path, o.Name, o.Version = cmp.Or(w.At, w.Source), w.Path, w.Name, w.Version
	if strict {
		o.locked = &known
	}
	if strict && known.Revision != "" {
		at, _, _ := strings.Cut(o.Source, "#")
		o.Source, o.recorded = at+"#"+known.Revision, source.WithoutPassword(o.Source)
	}
	registry, reference := oci.IsAddress(o.Source), ""
	if registry {
		ref, err := oci.Parse(o.Source)
		if reference = ref.String(); err == nil && strict {
			o.recorded = reference
			ref, err = ref.At(known.Digest)
			o.Source = ref.String()
		}
		if err != nil {
			return Result{}, err
		}
	}
	// If the library is on the shelf at the right revision, it stays unchanged.
	entries, _, err := s.List()
	if err != nil {
		return Result{}, err
	}
	id := idOf(w.Name, w.Version)
	if i := slices.IndexFunc(entries, func(e Entry) bool { return e.ID() == id || w.Version == "" && e.Name == w.Name }); i >= 0 {
		e := entries[i]
		if strict && known.Revision != "" && e.Index == known.Index || strict && registry && e.Index == known.Index && e.Digest == known.Digest {
			return Result{Entry: e, Unchanged: true, Problems: []indexer.Problem{}}, nil
		}
		if registry && !strict && e.Source == reference && e.texts == o.Texts {
			o.known = e.Digest
			if r, err := s.Add(ctx, o); !errors.Is(err, source.ErrUnchanged) {
				return r, err
			}
			return Result{Entry: e, Unchanged: true, Problems: []indexer.Problem{}}, nil
		}
	}
	return s.Add(ctx, o)
}
