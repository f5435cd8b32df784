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

// Statuses of a project file.
const (
	Trusted  = "trusted"
	Declined = "declined"
	Changed  = "changed"  // changed since it was trusted or declined
	Gone     = "gone"     // it cannot be read
	Unneeded = "unneeded" // nothing in it requires trust
	Unknown  = "unknown"  // no decision is recorded
)

// Trust is the trust status of one file.
type Trust struct {
	Path   string     `json:"path"`
	Status string     `json:"status"`
	Keys   []string   `json:"keys,omitempty"` // settings that require trust
	Digest string     `json:"digest,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

// ProjectAt reads the deskhand.yaml in dir, or in the nearest parent folder that has one,
// as a deskhand process in dir would. If that file is the user's own, which requires no
// trust, p is nil and own is the file's path.
func (s *Settings) ProjectAt(dir string, tell func(string)) (p *Project, own string, err error) {
	path, mine := projectConfig(dir), ownConfig()
	switch {
	case path == "":
		return nil, "", fault.Misuse(fmt.Sprintf("there is no %s in %s or a parent folder", ConfigName, dir), "pass a folder that has one: deskhand trust DIR")
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

// TrustFolder returns the folder that the command's arguments name. An argument
// is a folder or the path of a deskhand.yaml. Without arguments, TrustFolder
// returns the working directory.
func TrustFolder(args []string) (dir string, err error) {
	if len(args) == 0 {
		dir, err = os.Getwd()
	} else {
		dir, err = filepath.Abs(args[0])
	}
	if err != nil {
		return "", fault.Misuse("the working directory no longer exists: "+err.Error(), "change to an existing folder")
	}
	if filepath.Base(dir) == ConfigName && isFile(dir) {
		dir = filepath.Dir(dir)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", fault.Misuse(dir+" is not a folder", "pass the folder that contains the "+ConfigName)
	}
	return dir, nil
}

// Trust returns the file's entry in a list of files. The entry has the status
// that the file has once it is trusted.
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

// Decide records whether the user trusts the file's current bytes.
func (s *Settings) Decide(p *Project, agreed bool) error {
	err := s.records.Put(trust.Record{Path: p.place, Digest: p.sum, Agreed: agreed, At: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return fmt.Errorf("record the trust decision: %w", err)
	}
	return nil
}

// Forget deletes the recorded decision about a deskhand.yaml. It looks in dir and then
// in the parent folders for the first deskhand.yaml that exists or has a decision. was
// reports whether there was a decision.
func (s *Settings) Forget(dir string) (path string, was bool, err error) {
	for path = filepath.Join(dir, ConfigName); ; {
		place, err := trust.Place(path)
		if errors.Is(err, fs.ErrNotExist) {
			place, err = path, nil // the folder no longer exists
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
			return path, false, fault.Misuse(fmt.Sprintf("no trust decision is recorded for a %s in %s or a parent folder", ConfigName, dir), "list the recorded files: deskhand trust --list")
		}
		path = filepath.Join(up, ConfigName)
	}
}

// Trusted returns the files for which a decision is recorded.
func (s *Settings) Trusted() ([]Trust, error) {
	records, err := s.records.List()
	all := []Trust{}
	for _, r := range records {
		all = append(all, Trust{Path: r.Path, Status: standingOf(r), Digest: r.Digest, At: &r.At})
	}
	return all, err
}

// standingOf returns the status of a recorded file, by comparing the record with
// the current file.
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

// VisibleLine returns text on one line, with invisible characters escaped.
func VisibleLine(text string) string { return unbroken(elicit.Visible(text)) }
