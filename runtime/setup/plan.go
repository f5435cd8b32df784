// Package setup sets a project up: it finds the docs and the coding agents, and
// edits the files by which they start the server.
//
// [New] and [Removal] read and decide, and write nothing; [Plan.Apply] writes.
// A file keeps its comments, its order and its line ends. What was written is
// recorded, with a copy of the file before, so that it can be taken out again.
package setup

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Options say what is to be set up.
type Options struct {
	// Clients are names of clients; nil: those that are found.
	Clients []string
	// User connects the clients for all projects of the user, by the files in the
	// home folder.
	User bool
	// Description of the docs, completing "Search the ...". Empty: no file gets one.
	Description string
	// Command starts deskhand. In files of a project it is a name on PATH, in those
	// of the user an absolute path.
	Command, AbsoluteCommand string
}

// Plan is what is to be written.
type Plan struct {
	Docs    Docs
	Changes []Change
	Clients []Outcome
	// Notes are what a person should know, a sentence each.
	Notes []string
	// Index says that the index is to go, as the project had none before.
	Index   bool
	env     Env
	records Records
	dropped []record
}

// Outcome is what becomes of one client.
type Outcome struct {
	ID, Name string
	Path     string // of its file, for people; empty: it has none
	Status   Status
	Once     string // what a person has to do; see [Client]
}

// Status is what becomes of a client's entry.
type Status string

// Statuses.
const (
	Added     Status = "added"
	Updated   Status = "updated"
	Unchanged Status = "unchanged"
	Removed   Status = "removed"
	Foreign   Status = "foreign" // there is an entry of that name that somebody else wrote
	NoFile    Status = "no_file" // the client has no file in a project
)

// New plans to set a project up. Faults: "misuse" for a client that there is
// not, "unusable_file" for a file that cannot be edited; it names the line.
func New(env Env, records Records, o Options) (*Plan, error) {
	p := &Plan{Docs: FindDocs(env.Project), env: env, records: records}
	list := env.Found()
	if len(o.Clients) > 0 {
		var err error
		if list, err = Named(o.Clients); err != nil {
			return nil, err
		}
	}
	if err := p.projectFiles(o.Description); err != nil {
		return nil, err
	}
	for _, c := range list {
		if err := p.connect(c, o); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Server is how a client starts the server of a project. folder is the client's
// word for the project's folder; empty: it starts servers there.
func (p *Plan) server(command, folder string) Server {
	s := Server{command, []string{"serve"}}
	if folder != "" {
		s.Args = append(s.Args, "--directory", folder)
	}
	if p.Docs.Dir == "" {
		s.Args = append(s.Args, "--tools", "ask,work")
		return s
	}
	s.Args = append(s.Args, "--watch", p.Docs.Dir)
	return s
}

// connect plans the entry of one client.
func (p *Plan) connect(c Client, o Options) error {
	at, inside := c.project, p.env.Project
	if o.User {
		at, inside = c.user, ""
	}
	if at == nil {
		p.Clients = append(p.Clients, Outcome{ID: c.ID, Name: c.Name, Status: NoFile})
		return nil
	}
	server := p.server(o.Command, at.folder)
	if o.User {
		server = p.server(o.AbsoluteCommand, p.env.Project)
	}
	entry := at.entry(server)
	path := at.path(p.env)
	out := Outcome{ID: c.ID, Name: c.Name, Path: p.shown(path), Status: Added}
	if c.approved != nil && !c.approved(p.env) || c.approved == nil && !o.User {
		out.Once = c.Once
	}
	if o.User && c.ID != "gemini" { // which starts no server at all in a folder that is not trusted
		out.Once = ""
	}
	err := p.edit(path, inside, c.ID, o.User, func(data []byte, was record) ([]byte, []byte, any, error) {
		all, err := at.edit.entries(data)
		if err != nil {
			return nil, nil, nil, err
		}
		before := data
		switch found, there := all[Entry]; {
		case there && same(found, entry):
			out.Status = Unchanged
			return data, nil, nil, nil
		case there && !reflect.DeepEqual(found, was.Entry):
			out.Status = Foreign
			return data, nil, nil, nil
		case there:
			out.Status = Updated
			if before, err = at.edit.cut(data, Entry, was.Before); err != nil {
				return nil, nil, nil, err
			}
		}
		after, err := at.edit.put(data, Entry, entry)
		return after, before, any(plain(entry)), err
	})
	if err != nil {
		return err
	}
	if real, err := resolve(path); err == nil && out.Status == Unchanged && p.planned(real) {
		out.Status = Added // with another client's, in the same file
	}
	p.Clients = append(p.Clients, out)
	return nil
}

// edit plans the change of one file. do gets its bytes and returns those that it
// is to have, those that it has without what is ours, and our entry.
func (p *Plan) edit(path, inside, client string, user bool, do func(data []byte, was record) (after, before []byte, entry any, err error)) error {
	real, data, _, err := load(path, inside)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(p.Changes, func(c Change) bool { return c.Path == real }); i >= 0 {
		data = p.Changes[i].After // two clients share a file
		after, _, _, err := do(data, p.Changes[i].record)
		if err != nil {
			return p.located(path, err)
		}
		p.Changes[i].After = after
		return nil
	}
	was, known := p.records.find(p.env.Project, real)
	after, before, entry, err := do(data, was)
	if err != nil {
		return p.located(path, err)
	}
	if string(after) == string(data) {
		return nil
	}
	next := record{Project: p.env.Project, Path: real, Client: client, User: user, Created: data == nil || known && was.Created,
		Dirs: was.Dirs, Digest: digest(after), Entry: entry, Before: before}
	switch {
	case data == nil:
		next.Before = nil
	case known && was.Digest == digest(data):
		next.Before = was.Before
	}
	if entry == nil {
		next.Added = strings.TrimPrefix(string(after), string(data))
	}
	p.Changes = append(p.Changes, Change{Path: real, Shown: p.shown(path), Before: data, After: after, record: next})
	return nil
}

// located words what is wrong with a file, with its line.
func (p *Plan) located(path string, err error) error {
	at := new(problem)
	switch {
	case errors.As(err, &at) && at.line > 0:
		return fault.New("unusable_file", fmt.Sprintf("%s:%d: %s", p.shown(path), at.line, at.text), "fix it, or name other clients with --client; nothing was written")
	case errors.Is(err, errByHand):
		return unusable(path, err.Error())
	}
	return unusable(path, err.Error())
}

// shown is a path for people.
func (p *Plan) shown(path string) string {
	if rel, err := filepath.Rel(p.env.Project, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	if rel, err := filepath.Rel(p.env.Home, path); err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return path
}

// Backups are where the copies of files are that were there before.
func (p *Plan) Backups() (paths []string) {
	for _, c := range p.Changes {
		if c.Before != nil && !c.drop {
			paths = append(paths, p.records.Backup(c.record.Project, c.record.Path))
		}
	}
	return paths
}
