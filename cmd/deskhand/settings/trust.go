package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/trust"
)

// What a file of a project can be.
const (
	Trusted  = "trusted"
	Declined = "declined"
	Changed  = "changed"  // since it was trusted or declined
	Gone     = "gone"     // it cannot be read
	Unneeded = "unneeded" // nothing in it needs trust
	Unknown  = "unknown"  // nobody said anything of it
)

// Trust is what is known of one file.
type Trust struct {
	Path   string     `json:"path"`
	Status string     `json:"status"`
	Keys   []string   `json:"keys,omitempty"` // that need trust
	Digest string     `json:"digest,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

// ProjectAt reads the deskhand.yaml of dir, or of the nearest folder above that
// has one, as a deskhand there would. own is its path if it is the user's own,
// which needs no trust; p is nil then.
func (s *Settings) ProjectAt(dir string, tell func(string)) (p *Project, own string, err error) {
	path, mine := projectConfig(dir), ownConfig()
	switch {
	case path == "":
		return nil, "", fault.Misuse(fmt.Sprintf("there is no %s in %s or a folder above", ConfigName, dir), "name the folder that has one: deskhand trust DIR")
	case mine != "" && sameFolder(filepath.Dir(mine), filepath.Dir(path)):
		return nil, path, nil
	}
	var base configFile
	if mine != "" {
		if base, err = readConfig(mine, func(string) {}); err != nil {
			return nil, "", err
		}
	}
	if p, err = s.readProject(path, base, tell); err != nil {
		return nil, "", err
	}
	_, err = p.upstreams()
	return p, "", err
}

// TrustFolder is the folder that is meant: DIR, or that of a deskhand.yaml.
func TrustFolder(args []string) (dir string, err error) {
	if len(args) == 0 {
		dir, err = os.Getwd()
	} else {
		dir, err = filepath.Abs(args[0])
	}
	if err != nil {
		return "", fault.Misuse("the working directory is gone: "+err.Error(), "change to a folder that exists")
	}
	if filepath.Base(dir) == ConfigName && isFile(dir) {
		dir = filepath.Dir(dir)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", fault.Misuse(dir+" is not a folder", "name the folder that has the "+ConfigName)
	}
	return dir, nil
}

// Trust is what a list has of the file once it is trusted.
func (p *Project) Trust() Trust {
	t := Trust{Path: p.path, Status: Trusted, Digest: p.sum}
	for _, g := range p.needs {
		t.Keys = append(t.Keys, key(g.name))
	}
	if len(p.needs) == 0 {
		t.Status = Unneeded
	}
	return t
}

// Decide remembers what was said of exactly the bytes of a file.
func (s *Settings) Decide(p *Project, agreed bool) error {
	err := s.records.Put(trust.Record{Path: p.place, Digest: p.sum, Agreed: agreed, At: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return fmt.Errorf("remember trust: %w", err)
	}
	return nil
}

// Forget forgets what was said of the nearest file of dir that is there or was
// known; was says that something was said.
func (s *Settings) Forget(dir string) (path string, was bool, err error) {
	for path = filepath.Join(dir, ConfigName); ; {
		place, err := trust.Place(path)
		if errors.Is(err, fs.ErrNotExist) {
			place, err = path, nil // the folder is gone
		}
		if err != nil {
			return path, false, err
		}
		was, err := s.records.Remove(place)
		if err != nil || was || isFile(path) {
			return path, was, err
		}
		up := filepath.Dir(filepath.Dir(path))
		if up == filepath.Dir(path) {
			return path, false, fault.Misuse(fmt.Sprintf("nothing is known of a %s in %s or a folder above", ConfigName, dir), "see which files are: deskhand trust --list")
		}
		path = filepath.Join(up, ConfigName)
	}
}

// Trusted are the files of which something was said.
func (s *Settings) Trusted() ([]Trust, error) {
	records, err := s.records.List()
	all := []Trust{}
	for _, r := range records {
		all = append(all, Trust{Path: r.Path, Status: standingOf(r), Digest: r.Digest, At: &r.At})
	}
	return all, err
}

// standingOf compares a record with the file that it is about.
func standingOf(r trust.Record) string {
	data, _, err := trust.ReadFile(r.Path, MaxProjectFile)
	switch {
	case err != nil:
		return Gone
	case trust.Digest(data) != r.Digest:
		return Changed
	case r.Agreed:
		return Trusted
	}
	return Declined
}

// VisibleLine is text on one line, with what is unseen written out.
func VisibleLine(text string) string { return unbroken(elicit.Visible(text)) }
