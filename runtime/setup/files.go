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

	"github.com/rogpeppe/go-internal/diff"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Change is one file as it is and as it is to be.
type Change struct {
	Path   string // absolute, links resolved
	Shown  string // for people: relative to the project, or below ~
	Before []byte // nil: there is no such file
	After  []byte // nil: it goes
	record record
	drop   bool // the record goes, too
}

// Diff is the change in the unified format.
func (c Change) Diff() []byte {
	from, to := c.Shown, c.Shown
	if c.Before == nil {
		from += " (new)"
	}
	if c.After == nil {
		to += " (removed)"
	}
	text := diff.Diff(from, readable(c.Before), to, readable(c.After))
	if _, rest, ok := bytes.Cut(text, []byte("\n")); ok { // without "diff FROM TO", which says nothing more
		return rest
	}
	return text
}

// readable is a file without carriage returns at the ends of lines, which a
// terminal would act on.
func readable(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// maxFile is more than any of these files has, in bytes.
const maxFile = 32 << 20

// load reads a file that is to be edited. inside is the folder that it must not
// lead out of; empty: anywhere, as a person's own files may be links into a
// folder of theirs. before is nil if there is none.
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
			return "", nil, 0, unusable(path, "it is a link that leads out of the project, to "+real)
		}
	}
	info, err := os.Stat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return real, nil, 0o644, nil
	case err != nil:
		return "", nil, 0, unusable(path, reason(err))
	case info.IsDir():
		return "", nil, 0, unusable(path, "it is a folder, not a file")
	case !info.Mode().IsRegular():
		return "", nil, 0, unusable(path, "it is not a regular file")
	case info.Size() > maxFile:
		return "", nil, 0, unusable(path, "it is too large")
	}
	before, err = os.ReadFile(real)
	if err != nil {
		return "", nil, 0, unusable(path, reason(err))
	}
	if before == nil {
		before = []byte{}
	}
	return real, before, info.Mode().Perm(), nil
}

// resolve follows links as far as the path exists.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if _, there := os.Lstat(path); there == nil {
		return "", errors.New("it is a link that leads nowhere")
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

// reason is the system's reason without the path.
func reason(err error) string {
	if at := new(fs.PathError); errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

func unusable(path, why string) error {
	return fault.New("unusable_file", fmt.Sprintf("%s cannot be used: %s", path, why), "fix it, or name other clients with --client; nothing was written")
}

// record is what was done to a file, so that it can be taken back.
type record struct {
	Project string   `json:"project"`
	Path    string   `json:"path"`
	Client  string   `json:"client,omitempty"` // empty: it is a file of the project
	User    bool     `json:"user,omitempty"`   // the client's file for all projects
	Created bool     `json:"created,omitempty"`
	Dirs    []string `json:"dirs,omitempty"` // folders that were made for it, the outermost first
	Digest  string   `json:"digest"`         // of the file as it was written
	Added   string   `json:"added,omitempty"`
	Entry   any      `json:"entry,omitempty"` // as the file has it
	Before  []byte   `json:"before,omitempty"`
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Records are kept in a folder of the installation: for each file one record,
// and a copy of the file as it was before.
type Records struct{ dir string }

// In returns the records below the state folder of an installation.
func In(state string) Records { return Records{filepath.Join(state, "init")} }

func (r Records) name(project, path string) string {
	sum := sha256.Sum256([]byte(project + "\x00" + path))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:12]))
}

// Backup is where the copy of a file is that was there before.
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

// of lists the records of a project, by path.
func (r Records) of(project string) (all []record) {
	names, _ := filepath.Glob(filepath.Join(r.dir, "*.json")) // fails for a bad pattern alone
	for _, name := range names {
		var one record
		if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, &one) == nil && one.Project == project {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b record) int { return strings.Compare(a.Path, b.Path) })
	return all
}

func (r Records) keep(c Change) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("keep backup: %w", err)
	}
	if c.record.Before != nil {
		if err := write(r.Backup(c.record.Project, c.record.Path), c.record.Before, 0o600); err != nil {
			return fmt.Errorf("keep backup of %s: %w", c.Path, err)
		}
	}
	data, err := json.Marshal(c.record)
	if err == nil {
		err = write(r.name(c.record.Project, c.record.Path)+".json", data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep record of %s: %w", c.Path, err)
	}
	return nil
}

func (r Records) forget(one record) {
	os.Remove(r.name(one.Project, one.Path) + ".json")
	os.Remove(r.Backup(one.Project, one.Path))
}

// write puts a file in its place, wholly or not at all.
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

// stage writes what a file is to be beside it. One that a killed process left
// is replaced.
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

// Apply makes the changes of a plan. Each file is checked and staged first, and
// its record kept, so that an error leaves all as it was; then each is renamed
// into its place, so that an end in the middle leaves old or new files and no
// half ones.
func (p *Plan) Apply() error {
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

// unchanged makes sure that a file is as it was when the plan was made, and may
// be written.
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
		return 0, fault.New("changed_meanwhile", c.Path+" was changed meanwhile", "run it again; nothing was written")
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
		os.Remove(c.record.Dirs[i]) // stays if there is anything in it
	}
	return nil
}

// makeFolders makes a folder with those above it, and returns the ones that it
// made, the outermost first.
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
