package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// Removal plans the removal of everything that was added to a project and, for
// that project, to the user's files. If a file has not changed since the edit,
// it gets its original bytes. From a changed file, only deskhand's entry or
// lines are removed. If o.Clients is set, only those clients' entries are
// removed.
func Removal(env Env, records Records, o Options) (*Plan, error) {
	p := &Plan{env: env, records: records}
	wanted, err := Named(o.Clients)
	if err != nil {
		return nil, err
	}
	for _, one := range records.of(env.Project) {
		if len(wanted) > 0 && !has(wanted, one.Client) || o.User && !one.User {
			continue
		}
		if one.Client == indexRecord {
			p.Index, p.dropped = true, append(p.dropped, one)
			continue
		}
		if err := p.takeOut(one); err != nil {
			return nil, err
		}
	}
	if !o.User {
		p.takeOutUnrecorded(wanted)
	}
	return p, nil
}

func has(list []Client, id string) bool {
	for _, c := range list {
		if c.ID == id {
			return true
		}
	}
	return false
}

// takeOut plans the removal from one file.
func (p *Plan) takeOut(one record) error {
	inside := p.env.Project
	if one.User {
		inside = ""
	}
	real, data, _, err := load(one.Path, inside)
	if err != nil {
		return err
	}
	if data == nil {
		p.dropped = append(p.dropped, one)
		return nil
	}
	after, gone := one.Before, one.Created && one.blank(one.Before) // a person may have written into it between two runs of init
	if digest(data) != one.Digest {
		if after, gone, err = p.cutOut(one, data); err != nil {
			return p.located(one.Path, err)
		}
	}
	switch {
	case gone:
		after = nil
	case string(after) == string(data):
		p.dropped = append(p.dropped, one)
		return nil
	case after == nil:
		after = []byte{}
	}
	p.Changes = append(p.Changes, Change{Path: real, Shown: p.shown(one.Path), Before: data, After: after, record: one, drop: true})
	if one.Client != "" {
		p.removed(one.Client, one.Path)
	}
	return nil
}

func (p *Plan) removed(id, path string) {
	for _, c := range clients {
		if c.ID == id {
			p.Clients = append(p.Clients, Outcome{ID: id, Name: c.Name, Path: p.shown(path), Status: Removed})
		}
	}
}

// cutOut removes deskhand's part from a file that has changed since the edit.
// gone reports whether deskhand created the file and the file is now empty.
func (p *Plan) cutOut(one record, data []byte) (after []byte, gone bool, err error) {
	if one.Client == "" {
		text := string(data)
		if one.Added == "" || strings.Count(text, one.Added) != 1 {
			p.Notes = append(p.Notes, p.shown(one.Path)+" was changed since then and stays unchanged")
			return data, false, nil
		}
		head, tail, _ := strings.Cut(text, one.Added)
		if head != "" && !strings.HasSuffix(head, "\n") && tail != "" {
			head += "\n" // the added text began by ending a person's last line
		}
		text = head + tail
		return []byte(text), one.Created && one.blank([]byte(text)), nil
	}
	edit := editorOf(one)
	all, err := edit.entries(data)
	if err != nil {
		return nil, false, err
	}
	if s, ok := ours(all[Entry]); !ok || s.Command == "" {
		return data, false, nil
	}
	before := one.Before
	if before == nil {
		before = []byte{}
	}
	if after, err = edit.cut(data, Entry, before); err != nil {
		return nil, false, err
	}
	return after, one.Created && one.blank(after), nil
}

// blank reports whether data contains nothing that a person would miss in the record's file.
func (r record) blank(data []byte) bool {
	if r.Client == "" {
		return blank(data)
	}
	return editorOf(r).blank(data)
}

func editorOf(one record) editor {
	for _, c := range clients {
		switch {
		case c.ID == one.Client && one.User:
			return c.user.edit
		case c.ID == one.Client:
			return c.project.edit
		}
	}
	return jsonFile{group: "mcpServers"}
}

// takeOutUnrecorded plans the removal of project entries that have no record,
// for example in a clone. It removes only entries identical to those that init
// writes.
func (p *Plan) takeOutUnrecorded(wanted []Client) {
	p.Docs = FindDocs(p.env.Project)
	for _, c := range clients {
		if c.project == nil || len(wanted) > 0 && !has(wanted, c.ID) {
			continue
		}
		path := c.project.path(p.env)
		real, data, _, err := load(path, p.env.Project)
		if err != nil || data == nil || p.planned(real) {
			continue // init has not written this file
		}
		all, err := c.project.edit.entries(data)
		if err != nil || !same(all[Entry], c.project.entry(p.server("deskhand", c.project.folder))) {
			continue
		}
		after, err := c.project.edit.cut(data, Entry, nil)
		if err != nil {
			p.Notes = append(p.Notes, fmt.Sprintf("%s stays unchanged: remove the entry %s by hand", p.shown(path), Entry))
			continue
		}
		p.Changes = append(p.Changes, Change{Path: real, Shown: p.shown(path), Before: data, After: after,
			record: record{Project: p.env.Project, Path: real, Client: c.ID}, drop: true})
		p.removed(c.ID, path)
	}
}

func (p *Plan) planned(path string) bool {
	for _, c := range p.Changes {
		if c.Path == path {
			return true
		}
	}
	return false
}

// indexRecord is the client name in a record about an index.
const indexRecord = "index"

// BuiltIndex records that the project had no index before init built one.
func (r Records) BuiltIndex(project string) error {
	lock, err := r.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	path := filepath.Join(project, filepath.FromSlash(IndexFolder))
	return r.keep(Change{Path: path, record: record{Project: project, Path: path, Client: indexRecord}})
}

// RemoveIndex deletes the index that deskhand built in the project. If the
// index's folders are then empty, it deletes them too. was reports whether
// there was an index.
func RemoveIndex(project string) (was bool) {
	dir := filepath.Join(project, filepath.FromSlash(IndexFolder))
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || !artifact.Alone(dir) {
		return false
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*")) // fails only for an invalid pattern
	for _, name := range append(names, filepath.Join(dir, ".lock")) {
		os.Remove(name)
	}
	os.Remove(dir)
	os.Remove(filepath.Dir(dir))
	return true
}
