// Package team holds the commands about people and their tokens: what they do with
// the store and what they print.
package team

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/store"
)

// Installation is what the commands need of an installation.
type Installation interface {
	Register(context.Context) (*people.Register, error)
	Hub(context.Context) (*elicit.Hub, error)
	// InviteLink returns the address at which a browser uses an invitation, and whether
	// only this machine reaches it.
	InviteLink(ctx context.Context, secret string) (link string, here bool, err error)
	// Forget deletes what serves only a person who is removed.
	Forget(ctx context.Context, tx *store.Tx, name string) error
	// EndBrowsers deletes the browsers to notify of a person who is signed out.
	EndBrowsers(ctx context.Context, tx *store.Tx, name string) error
	// Retire returns the function for [people.Register.Admit] that gives up the name of a
	// person who was removed.
	Retire(context.Context) (func(ctx context.Context, tx *store.Tx, name, former string) error, error)
	// Outbox returns the messages that are to be sent.
	Outbox(context.Context) (*outbox.Box, error)
	// ProjectID returns the ID of the project with a name.
	ProjectID(ctx context.Context, name string) (id string, err error)
	// ProjectName returns the name of the project with an ID, or "" if there is none.
	ProjectName(ctx context.Context, id string) (name string, err error)
}

// Command is the part that all commands share.
type Command struct {
	console.Console
	Of       Installation
	register *people.Register

	json            bool     // --json
	scopes, expires string   // --scope and --expires; empty: not given
	person          string   // --for
	roles           []string // --role
	guest           *bool    // --guest; nil: not given
	projects        []string // --project: names
	mail            *string  // --mail; nil: not given
	dead            bool     // --dead
	tool            string   // --tool; empty: commands
	everywhere      bool     // --all-projects
	ask, all        bool     // --ask and --all
	file, url       string   // --file and --url
	quiet           *string  // --quiet, --zone and --quiet-except; nil: not given
	zone, except    *string
}

// projectIDs returns the IDs of the projects that --project names.
func (c *Command) projectIDs(ctx context.Context) (ids []string, err error) {
	for _, name := range c.projects {
		id, err := c.Of.ProjectID(ctx, name)
		if f := fault.Of(err); f != nil && f.Code == "not_found" && f.Hint == "" {
			return nil, fault.New(f.Code, f.Message, "list the projects: deskhand tasks project ls")
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// named replaces the IDs of projects by their names, and drops those of deleted projects.
func (c *Command) named(ctx context.Context, ids []string) ([]string, error) {
	names := []string{}
	for _, id := range ids {
		name, err := c.Of.ProjectName(ctx, id)
		if err != nil {
			return nil, err
		}
		if name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// add adds a person, or makes one who was added before a member of projects.
func (c *Command) add(ctx context.Context, name string) error {
	n := people.Newcomer{Name: name, Guest: c.guest != nil && *c.guest, Roles: c.roles}
	if c.mail != nil {
		n.Mail = *c.mail
	}
	var err error
	if c.scopes != "" {
		if n.Scopes, err = people.ParseScopes(c.scopes); err != nil {
			return err
		}
	}
	if n.Projects, err = c.projectIDs(ctx); err != nil {
		return err
	}
	retire, err := c.Of.Retire(ctx)
	if err != nil {
		return err
	}
	err = c.register.Admit(ctx, n, retire)
	if f := fault.Of(err); f != nil && f.Code == people.Exists && len(n.Projects) > 0 && c.scopes == "" && c.guest == nil && c.mail == nil && len(c.roles) == 0 {
		if err := c.register.Join(ctx, name, n.Projects...); err != nil {
			return err
		}
		c.Tell(name + " is a member of " + strings.Join(c.projects, ", ") + " now: only its members see it")
		return nil
	}
	if err != nil {
		return err
	}
	text := name + " is added"
	if len(n.Projects) > 0 {
		text += ", as a member of " + strings.Join(c.projects, ", ") + ": only its members see it"
	}
	c.Tell(text + ". For a browser: deskhand people invite " + name + "; for a program: deskhand token create --for " + name + " --scope ask")
	return nil
}

// set changes a person. A list of roles replaces the old one.
func (c *Command) set(ctx context.Context, name string) error {
	change := people.Change{Guest: c.guest, Mail: c.mail, Quiet: c.quiet, Zone: c.zone, Except: c.except}
	if c.scopes == "" && c.roles == nil && c.guest == nil && c.mail == nil && c.quiet == nil && c.zone == nil && c.except == nil {
		return fault.Misuse("nothing says what to change", "write --scope, --role, --guest, --mail or --quiet")
	}
	if c.scopes != "" {
		var err error
		if change.Scopes, err = people.ParseScopes(c.scopes); err != nil {
			return err
		}
	}
	if c.roles != nil {
		roles := slices.DeleteFunc(c.roles, func(role string) bool { return role == "" })
		change.Roles = &roles
	}
	p, err := c.register.Change(ctx, name, change)
	if err != nil {
		return err
	}
	text := p.Name + " has the scopes " + people.Words(p.Scopes)
	if len(p.Roles) > 0 {
		text += " and the roles " + strings.Join(p.Roles, ", ")
	}
	if p.Guest {
		text += ", as a guest"
	}
	if p.Quiet != "" {
		text += ", and the quiet hours " + p.Quiet + " " + cmp.Or(p.Zone, "UTC") + ", except for questions that are " + cmp.Or(p.QuietExcept, "urgent")
	}
	if p.Mail != "" {
		text += ", and gets mail at " + p.Mail
	}
	c.Tell(text + ". Tokens keep their scopes")
	return c.orphans(ctx)
}

// remove removes a person, or with --project only ends memberships.
func (c *Command) remove(ctx context.Context, name string) error {
	ids, err := c.projectIDs(ctx)
	if err != nil {
		return err
	}
	for i, id := range ids {
		open, err := c.register.Leave(ctx, name, id)
		if err != nil {
			return err
		}
		text := name + " is no longer a member of " + c.projects[i]
		if open {
			text += ", which has no members now: it is open to everyone"
		}
		c.Tell(text)
	}
	if len(ids) > 0 {
		return nil
	}
	if err := c.register.Remove(ctx, name, c.Of.Forget); err != nil {
		return err
	}
	c.Tell(name + " is removed: the person's sessions, tokens and invitations have ended, and the person's credentials for upstreams are deleted")
	return c.orphans(ctx)
}

// orphans says which questions nobody can answer now.
func (c *Command) orphans(ctx context.Context) error {
	hub, err := c.Of.Hub(ctx)
	if err != nil {
		return err
	}
	all, err := hub.Unanswerable(ctx)
	for _, r := range all {
		c.Tell("the question " + r.ID + " is for " + strings.ReplaceAll(r.Audience.Words(), `"`, "") + "; hand it to another person: deskhand ask hand " + r.ID + " everyone")
	}
	return err
}

// signOut ends a person's sessions.
func (c *Command) signOut(ctx context.Context, name string) error {
	if err := c.register.SignOut(ctx, name, c.Of.EndBrowsers); err != nil {
		return err
	}
	c.Tell("all browsers of " + name + " are signed out, and unused invitations have ended")
	return nil
}

// invite prints a link.
func (c *Command) invite(ctx context.Context, name string) error {
	if _, _, err := c.Of.InviteLink(ctx, ""); err != nil {
		return err // before an invitation is made that nobody can use
	}
	secret, until, err := c.register.Invite(ctx, name)
	if err != nil {
		return err
	}
	link, here, err := c.Of.InviteLink(ctx, secret)
	if err != nil {
		return err
	}
	text := "the link signs one browser in as " + name + ", once, until " + until.Local().Format("2006-01-02 15:04")
	if here {
		text += ". It works only on this machine: set public_url to the address at which others reach the server"
	}
	c.Tell(text)
	_, err = fmt.Fprintln(c.Stdout, link)
	return err
}

// list prints the people.
func (c *Command) list(ctx context.Context, _ string) error {
	all, err := c.register.List(ctx)
	for i := range all {
		if err == nil {
			all[i].Projects, err = c.named(ctx, all[i].Projects)
		}
	}
	if err != nil || c.json {
		return c.orJSON(err, all)
	}
	if len(all) == 0 {
		c.Tell("nobody was added: the owner of this installation is its only person")
		return nil
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSCOPES\tROLES\tPROJECTS\tTOKENS\tADDED\tCAN ANSWER")
	for _, p := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", p.Name, people.Words(p.Scopes), cmp.Or(strings.Join(p.Roles, ", "), "-"), projectsOf(p), p.Tokens, day(p.Added), answers(p))
	}
	return w.Flush()
}

// answers returns whether a person can answer a question, for people.
func answers(p people.Person) string {
	switch {
	case !p.Reachable:
		return "no"
	case p.Lacking != "":
		return "not yet"
	}
	return "yes"
}

// projectsOf returns the projects of a person for people.
func projectsOf(p people.Person) string {
	words := strings.Join(p.Projects, ", ")
	if p.Guest {
		words = strings.TrimSuffix("guest: "+words, ": ")
	}
	return cmp.Or(words, "-")
}

func (c *Command) orJSON(err error, v any) error {
	if err != nil {
		return err
	}
	return c.Console.JSON(v)
}

// create creates a token and prints only the token on stdout.
func (c *Command) create(ctx context.Context, _ string) error {
	if c.person == "" || c.scopes == "" {
		return fault.Misuse("a token needs a person and what it opens", "write --for NAME --scope SCOPE[,SCOPE]; the scopes are "+people.Words(access.Scopes))
	}
	scopes, err := people.ParseScopes(c.scopes)
	if err != nil {
		return err
	}
	expires, err := people.ParseExpiry(c.expires, time.Now())
	if err != nil {
		return err
	}
	projects, err := c.projectIDs(ctx)
	if err != nil {
		return err
	}
	secret, t, err := c.register.CreateToken(ctx, c.person, scopes, expires, projects...)
	if err != nil {
		return err
	}
	text := t.ID + " for " + t.For + ": " + people.Words(t.Scopes)
	if len(c.projects) > 0 {
		text += ", only in " + strings.Join(c.projects, ", ")
	}
	if !t.Expires.IsZero() {
		text += ", until " + t.Expires.Local().Format("2006-01-02 15:04")
	}
	c.Tell(text + ". It is shown only now")
	_, err = fmt.Fprintln(c.Stdout, secret)
	return err
}

// revoke ends a token.
func (c *Command) revoke(ctx context.Context, id string) error {
	t, err := c.register.Revoke(ctx, id)
	if err != nil {
		return err
	}
	c.Tell(t.ID + " of " + t.For + " is revoked")
	return nil
}

// tokens prints the tokens.
func (c *Command) tokens(ctx context.Context, _ string) error {
	all, err := c.register.Tokens(ctx)
	for i := range all {
		if err == nil && len(all[i].Projects) > 0 {
			all[i].Projects, err = c.named(ctx, all[i].Projects)
		}
	}
	if err != nil || c.json {
		return c.orJSON(err, all)
	}
	if len(all) == 0 {
		c.Tell("no token was created")
		return nil
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tFOR\tSCOPES\tPROJECTS\tCREATED\tLAST USED\tSTATE")
	for _, t := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.For, people.Words(t.Scopes), cmp.Or(strings.Join(t.Projects, ", "), "-"), day(t.Created), day(t.Used), state(t, time.Now()))
	}
	return w.Flush()
}

func state(t people.Token, now time.Time) string {
	switch why := t.Ended(now); {
	case why != "":
		return strings.TrimPrefix(why, "token_")
	case t.Expires.IsZero():
		return "valid"
	}
	return "valid until " + day(t.Expires)
}

func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}
