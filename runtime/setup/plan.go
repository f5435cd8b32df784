// Package setup sets up a project. It finds the docs and the coding agents, and
// edits the files that make the agents start the server.
//
// [New] and [Removal] only plan changes; [Plan.Apply] writes them. An edited
// file keeps its comments, order and line endings. Each edit is recorded with a
// copy of the original file, so that it can be undone.
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

// Options configures what is set up.
type Options struct {
	// Clients lists the names of clients to set up. If it is empty, setup uses
	// the clients that it finds.
	Clients []string
	// User connects the clients for all of the user's projects. It edits the
	// files in the home folder.
	User bool
	// Description describes the docs. It completes "Search the ...". If it is
	// empty, no description is written.
	Description string
	// Command starts deskhand by its name on PATH, and is used in a project's
	// files. AbsoluteCommand is the absolute path of deskhand, and is used in
	// the user's files.
	Command, AbsoluteCommand string
}

// Plan holds the changes to make.
type Plan struct {
	Docs    Docs
	Changes []Change
	Clients []Outcome
	// Notes lists messages for the user, one sentence each.
	Notes []string
	// Index reports whether the index will be removed, because the project had
	// none before.
	Index   bool
	env     Env
	records Records
	dropped []record
}

// Outcome is the result for one client.
type Outcome struct {
	ID, Name string
	Path     string // path of the client's file, for people; empty if the client has none
	Status   Status
	Once     string // the action that a person must take; see [Client]
}

// Status is the result for a client's entry.
type Status string

// Statuses.
const (
	Added     Status = "added"
	Updated   Status = "updated"
	Unchanged Status = "unchanged"
	Removed   Status = "removed"
	Foreign   Status = "foreign" // the client has an entry with the same name that deskhand did not write
	NoFile    Status = "no_file" // the client has no file in a project
)

// New plans the setup of a project. It returns the fault "misuse" for an
// unknown client. For a file that cannot be edited, it returns the fault
// "unusable_file", which names the line.
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

// server returns the command by which a client starts a project's server.
// folder is the client's variable for the project's folder. If it is empty, the
// client starts servers in that folder.
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

// connect plans the entry for one client.
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
	if o.User && c.ID != "gemini" { // Gemini starts no servers in an untrusted folder
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
		out.Status = Added // added for another client that uses the same file
	}
	p.Clients = append(p.Clients, out)
	return nil
}

// edit plans the change of one file. do gets the file's bytes. It returns the
// new bytes, the bytes without deskhand's part, and deskhand's entry.
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

// located returns an error about a file. The error names the line if that is
// known.
func (p *Plan) located(path string, err error) error {
	at := new(problem)
	switch {
	case errors.As(err, &at) && at.line > 0:
		return fault.New("unusable_file", fmt.Sprintf("%s:%d: %s", p.shown(path), at.line, at.text), "fix the file, or choose other clients with --client; nothing was written")
	case errors.Is(err, errByHand):
		server := p.server("deskhand", "")
		return fault.New("unusable_file", p.shown(path)+" is valid, but deskhand cannot edit it without touching other settings", fmt.Sprintf("edit its entry %s by hand (command: %s), or choose other clients with --client; nothing was written", Entry, strings.Join(append([]string{server.Command}, server.Args...), " ")))
	}
	return unusable(path, err.Error())
}

// shown returns a path for people.
func (p *Plan) shown(path string) string {
	if rel, err := filepath.Rel(p.env.Project, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	if rel, err := filepath.Rel(p.env.Home, path); err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return path
}

// Backups returns the paths of the copies of the original files.
func (p *Plan) Backups() (paths []string) {
	for _, c := range p.Changes {
		if c.Before != nil && !c.drop {
			paths = append(paths, p.records.Backup(c.record.Project, c.record.Path))
		}
	}
	return paths
}
