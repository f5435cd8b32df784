package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/filelock"
)

// Change holds the current and the planned content of one file.
type Change struct {
	Path   string // absolute, with symbolic links resolved
	Shown  string // path for people: relative to the project, or below ~
	Before []byte // nil if the file does not exist
	After  []byte // nil if the file will be removed
	record record
	drop   bool // whether to delete the record too
}

// Diff returns the change in unified format.
func (c Change) Diff() []byte {
	from, to := c.Shown, c.Shown
	if c.Before == nil {
		from += " (new)"
	}
	if c.After == nil {
		to += " (removed)"
	}
	text := diff.Diff(from, readable(c.Before), to, readable(c.After))
	if _, rest, ok := bytes.Cut(text, []byte("\n")); ok { // omit the redundant line "diff FROM TO"
		return rest
	}
	return text
}

// readable returns a file's content without carriage returns at line ends,
// because a terminal would interpret them.
func readable(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// maxFile is the maximum size of a file in bytes. None of the edited files
// needs more.
const maxFile = 32 << 20

// load reads a file to edit. After links are resolved, the file must be inside
// the folder named by inside. If inside is empty, the file may be anywhere,
// because users may keep their own files in other folders and link to them.
// before is nil if the file does not exist.
func load(path, inside string) (real string, before []byte, mode fs.FileMode, err error) {
	real, err = resolve(path)
	if err != nil {
		return "", nil, 0, unusable(path, err.Error())
	}
	if inside != "" {
		root, err := filepath.EvalSymlinks(inside)
		if err != nil {
			return "", nil, 0, unusable(inside, err.Error())
		}
		if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
			return "", nil, 0, unusable(path, "it is a link that points outside the project, to "+real)
		}
	}
	before, mode, err = read(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return real, nil, 0o644, nil
	case err != nil:
		return "", nil, 0, unusable(path, reason(err))
	}
	return real, before, mode, nil
}

// read reads a regular file of at most maxFile bytes. A link of the project may point to
// a device that never ends, so read looks at the file before it opens it.
func read(path string) (data []byte, mode fs.FileMode, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, 0, err
	case info.IsDir():
		return nil, 0, errors.New("it is a folder, not a file")
	case !info.Mode().IsRegular():
		return nil, 0, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return nil, 0, errors.New("it is too large")
	}
	data, err = os.ReadFile(path)
	if data == nil {
		data = []byte{}
	}
	return data, info.Mode().Perm(), err
}

// resolve resolves the symbolic links in that part of path that exists.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if _, there := os.Lstat(path); there == nil {
		return "", errors.New("it is a broken link")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", errors.New(reason(err))
	}
	up := filepath.Dir(path)
	if up == path {
		return path, nil
	}
	up, err = resolve(up)
	return filepath.Join(up, filepath.Base(path)), err
}

// reason returns the system's error text without the path.
func reason(err error) string {
	if at := new(fs.PathError); errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

func unusable(path, why string) error {
	return fault.New("unusable_file", fmt.Sprintf("%s cannot be used: %s", path, why), "fix the file, or choose other clients with --client; nothing was written")
}

// record stores how a file was changed, so that the change can be undone.
type record struct {
	Project string   `json:"project"`
	Path    string   `json:"path"`
	Client  string   `json:"client,omitempty"` // empty for a file that all clients share
	User    bool     `json:"user,omitempty"`   // whether it is the client's file for all projects
	Created bool     `json:"created,omitempty"`
	Dirs    []string `json:"dirs,omitempty"` // folders created for the file, outermost first
	Digest  string   `json:"digest"`         // digest of the file as written
	Added   string   `json:"added,omitempty"`
	Entry   any      `json:"entry,omitempty"` // the entry as it is in the file
	Before  []byte   `json:"before,omitempty"`
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Records is a folder in the installation's state. It contains one record for
// each edited file, and a copy of the file before the edit.
type Records struct{ dir string }

// In returns the records in an installation's state folder.
func In(state string) Records { return Records{filepath.Join(state, "init")} }

func (r Records) name(project, path string) string {
	sum := sha256.Sum256([]byte(project + "\x00" + path))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:12]))
}

// Backup returns the path of the copy of a file from before the edit.
func (r Records) Backup(project, path string) string {
	return r.name(project, path) + "-" + strings.TrimPrefix(filepath.Base(path), ".") + ".bak"
}

func (r Records) find(project, path string) (found record, ok bool) {
	data, err := os.ReadFile(r.name(project, path) + ".json")
	if err != nil || json.Unmarshal(data, &found) != nil {
		return record{}, false
	}
	return found, found.Path == path && found.Project == project
}

// of returns a project's records, sorted by path.
func (r Records) of(project string) (all []record) {
	names, _ := filepath.Glob(filepath.Join(r.dir, "*.json")) // fails only for an invalid pattern
	for _, name := range names {
		var one record
		if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, &one) == nil && one.Project == project {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b record) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// maxLockWait is how long a process waits for another one, which writes for milliseconds.
const maxLockWait = 10 * time.Second

// lock creates the folder and locks it until the file is closed. If another process has
// the lock for too long, lock returns the fault "locked".
func (r Records) lock() (*os.File, error) {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, fault.New("state_unusable", fmt.Sprintf("the backups cannot be saved in %s: %s", r.dir, reason(err)),
			"choose a folder that you can write to: deskhand config state; nothing was written")
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		f, err := filelock.Lock(filepath.Join(r.dir, ".lock"))
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, filelock.ErrLocked):
			return nil, fmt.Errorf("lock the backups: %w", err)
		case time.Since(began) > maxLockWait:
			return nil, &fault.Fault{Code: "locked", Message: "another deskhand init is writing",
				Hint: "wait until it ends, and run the command again; nothing was written", Retryable: true}
		}
	}
}

func (r Records) keep(c Change) error {
	if c.record.Before != nil {
		if err := write(r.Backup(c.record.Project, c.record.Path), c.record.Before, 0o600); err != nil {
			return fmt.Errorf("save a backup of %s: %w", c.Path, err)
		}
	}
	data, err := json.Marshal(c.record)
	if err == nil {
		err = write(r.name(c.record.Project, c.record.Path)+".json", data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("save a record of %s: %w", c.Path, err)
	}
	return nil
}

func (r Records) forget(one record) {
	os.Remove(r.name(one.Project, one.Path) + ".json")
	os.Remove(r.Backup(one.Project, one.Path))
}

// write replaces a file atomically.
func write(path string, data []byte, mode fs.FileMode) error {
	temp, err := stage(path, data, mode)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		os.Remove(temp)
		return err
	}
	return nil
}

// stage writes a file's new content to a temporary file next to it. If a killed
// process has left a temporary file, stage replaces it.
func stage(path string, data []byte, mode fs.FileMode) (temp string, err error) {
	temp = filepath.Join(filepath.Dir(path), "."+strings.TrimPrefix(filepath.Base(path), ".")+".deskhand-new")
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		os.Remove(temp)
		return "", err
	}
	return temp, nil
}

// Apply makes the changes of a plan. It first checks and stages every file and
// stores the file's record. If there is an error, all files therefore stay
// unchanged. It then renames each staged file into place. If it is interrupted,
// each file is complete, and has either its old or its new content. Concurrent
// processes write one after the other.
func (p *Plan) Apply() error {
	if len(p.Changes)+len(p.dropped) == 0 {
		return nil
	}
	lock, err := p.records.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	var made, temps []string
	back := func(err error) error {
		for _, temp := range temps {
			os.Remove(temp)
		}
		slices.Reverse(made)
		for _, dir := range made {
			os.Remove(dir)
		}
		return err
	}
	staged := make([]string, len(p.Changes))
	for i := range p.Changes {
		c := &p.Changes[i]
		mode, err := c.unchanged()
		if err != nil {
			return back(err)
		}
		if c.After == nil {
			continue
		}
		dirs, err := makeFolders(filepath.Dir(c.Path))
		made = append(made, dirs...)
		if err != nil {
			return back(unusable(c.Path, reason(err)))
		}
		c.record.Dirs = append(slices.Clone(dirs), c.record.Dirs...)
		if staged[i], err = stage(c.Path, c.After, mode); err != nil {
			return back(unusable(c.Path, reason(err)))
		}
		temps = append(temps, staged[i])
	}
	for _, c := range p.Changes {
		if !c.drop {
			if err := p.records.keep(c); err != nil {
				return back(err)
			}
		}
	}
	for i, c := range p.Changes {
		if err := c.place(staged[i]); err != nil {
			return fmt.Errorf("write %s: %w", c.Shown, err)
		}
		if c.drop {
			p.records.forget(c.record)
		}
	}
	for _, one := range p.dropped {
		p.records.forget(one)
	}
	return nil
}

// unchanged returns an error if a file has changed since the plan was made, or
// if the file is read-only.
func (c Change) unchanged() (mode fs.FileMode, err error) {
	info, err := os.Lstat(c.Path)
	if errors.Is(err, fs.ErrNotExist) && c.Before == nil {
		return 0o644, nil
	}
	if err != nil {
		return 0, unusable(c.Path, reason(err))
	}
	now, err := os.ReadFile(c.Path)
	switch {
	case err != nil:
		return 0, unusable(c.Path, reason(err))
	case c.Before == nil || !bytes.Equal(now, c.Before):
		return 0, fault.New("changed_meanwhile", c.Path+" was changed in the meantime", "run the command again; nothing was written")
	case info.Mode().Perm()&0o200 == 0:
		return 0, unusable(c.Path, "it is read-only")
	}
	return info.Mode().Perm(), nil
}

func (c Change) place(temp string) error {
	if c.After != nil {
		return os.Rename(temp, c.Path)
	}
	if err := os.Remove(c.Path); err != nil {
		return err
	}
	for i := len(c.record.Dirs) - 1; i >= 0; i-- {
		os.Remove(c.record.Dirs[i]) // fails if the folder is not empty, which is intended
	}
	return nil
}

// makeFolders creates a folder and its missing parents. It returns the created
// folders, outermost first.
func makeFolders(dir string) (made []string, err error) {
	var missing []string
	for at := dir; !exists(at); at = filepath.Dir(at) {
		missing = append(missing, at)
	}
	slices.Reverse(missing)
	for _, one := range missing {
		if err := os.Mkdir(one, 0o755); err != nil {
			return made, err
		}
		made = append(made, one)
	}
	return made, nil
}
