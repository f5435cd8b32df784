package people

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns this package's tables for [store.Open].
func Schema() store.Schema { return store.NewSchema("people", migrations) }

// Topic is the feed topic of changes to people and their tokens. An event's key is the
// person's name, and its data is an [Event] as JSON.
const Topic = "people"

// Event is a change to a person.
type Event struct {
	Type    string `json:"type"` // added, changed, removed, invited, joined, signedOut, tokenCreated, tokenRevoked, memberAdded, memberRemoved or arrived
	Token   string `json:"token,omitempty"`
	Project string `json:"project,omitempty"` // ID
	Detail  string `json:"detail,omitempty"`  // what changed
}

// Register is the people of one store. Its methods may be called concurrently.
type Register struct {
	db *store.DB
	// NoMail means that neither this process nor a running server sends mail, so that an
	// address reaches nobody.
	NoMail bool
}

// In returns the people of a store opened with [Schema].
func In(db *store.DB) *Register { return &Register{db: db} }

func tell(tx *store.Tx, name string, e Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	tx.Append(Topic, name, data)
	return tx.Audit(e.record(name))
}

// record returns the event's row of the audit log.
func (e Event) record(name string) store.Record {
	switch e.Type {
	case "joined":
		return store.Record{Who: name, Action: "session.began", Object: name, Detail: "with an invitation"}
	case "arrived":
		return store.Record{Who: name, Way: access.ByOIDC, Action: "session.began", Object: name, Detail: "with the identity provider"}
	case "memberAdded":
		return store.Record{Action: "member.added", Object: name, Detail: "to project " + e.Project}
	case "memberRemoved":
		return store.Record{Action: "member.removed", Object: name, Detail: "from project " + e.Project}
	case "tokenCreated":
		return store.Record{Action: "token.created", Object: e.Token, Detail: "for " + name + ", " + e.Detail}
	case "tokenRevoked":
		return store.Record{Action: "token.revoked", Object: e.Token, Detail: "of " + name}
	case "signedOut":
		return store.Record{Action: "session.ended", Object: name, Detail: "in all browsers"}
	}
	return store.Record{Action: "person." + e.Type, Object: name, Detail: e.Detail}
}

// Newcomer is a person to add.
type Newcomer struct {
	Name   string
	Scopes []access.Scope // nil for [Standard]
	// Guest reports whether the person knows only of projects that the person is a
	// member of.
	Guest    bool
	Roles    []string
	Projects []string // IDs of projects to become a member of
	Mail     string   // e-mail address; empty: none
}

// Add adds a person who is a member of no project. scopes may be nil for [Standard]. A
// person who was removed can be added again, and is then another person; the old tokens,
// sessions, invitations, identities and memberships stay ended. Fails with code [BadName] or [Exists].
func (r *Register) Add(ctx context.Context, name string, scopes []access.Scope) error {
	return r.Admit(ctx, Newcomer{Name: name, Scopes: scopes})
}

// Admit adds a person, as Add does, and makes the person a member of projects. If a person
// who was removed had the name, it calls also in the same transaction, for what others keep
// of that person, with that person's exact name and the name to keep it under: one that
// nobody can have.
func (r *Register) Admit(ctx context.Context, n Newcomer, also ...func(ctx context.Context, tx *store.Tx, name, former string) error) error {
	if err := CheckName(n.Name); err != nil {
		return err
	}
	if err := checkRoles(n.Roles); err != nil {
		return err
	}
	if err := checkMail(n.Mail); err != nil {
		return err
	}
	return r.db.Update(ctx, func(tx *store.Tx) error {
		old, err := find(ctx, tx, n.Name)
		if err == nil && old != nil && old.removed != 0 {
			former := old.former()
			if _, err := tx.Exec(ctx, "UPDATE people_tokens SET person = ? WHERE person = ?", former, old.Name); err != nil {
				return fmt.Errorf("retire the name of a person: %w", err)
			}
			for _, f := range also {
				if err := f(ctx, tx, old.Name, former); err != nil {
					return err
				}
			}
		}
		if err != nil {
			return err
		}
		return admit(ctx, tx, n)
	})
}

// former returns the name of a removed person after another person has got it. No person can
// have it: see [CheckName].
func (p *row) former() string {
	return p.Name + " (removed " + time.UnixMilli(p.removed).UTC().Format(time.DateOnly) + ")"
}

func checkRoles(roles []string) error {
	for _, role := range roles {
		if !nameForm().MatchString(role) {
			return fault.New(BadName, fmt.Sprintf("%.80q is not a name for a role", role), "use 1 to 64 letters, digits, dots, hyphens, underscores and @, beginning with a letter or digit")
		}
	}
	return nil
}

// Change is what to change about a person. What is nil stays.
type Change struct {
	Scopes []access.Scope
	Roles  *[]string
	Guest  *bool
	Mail   *string // empty for none
	// Quiet, Zone and Except change the quiet hours. An empty Quiet removes them.
	Quiet, Zone, Except *string
}

// quiet sets a person's quiet hours. The zone stays if only the hours change.
func (c Change) quiet(p *Person) error {
	for _, one := range []struct{ from, to *string }{{c.Quiet, &p.Quiet}, {c.Zone, &p.Zone}, {c.Except, &p.QuietExcept}} {
		if one.from != nil {
			*one.to = *one.from
		}
	}
	if c.Quiet != nil && strings.TrimSpace(p.Quiet) == "" {
		p.Quiet, p.Zone, p.QuietExcept = "", "", ""
	}
	if p.Quiet == "" && (p.Zone != "" || p.QuietExcept != "") {
		return fault.New(BadTime, p.Name+" has no quiet hours", "write --quiet too, for example --quiet 22:00-07:00")
	}
	if _, err := routing.ParseQuiet(p.Quiet, p.Zone, p.QuietExcept); err != nil {
		return fault.New(BadTime, "the quiet hours cannot be used: "+err.Error(), "write for example --quiet 22:00-07:00;sat-sun --zone Europe/Berlin --quiet-except high")
	}
	return nil
}

// Change changes a person's scopes, roles, address or whether the person is a guest. Fails
// with code [NoPerson], [BadName] or [BadMail].
func (r *Register) Change(ctx context.Context, name string, c Change) (p Person, err error) {
	if c.Roles != nil {
		if err := checkRoles(*c.Roles); err != nil {
			return p, err
		}
	}
	if c.Mail != nil {
		if err := checkMail(*c.Mail); err != nil {
			return p, err
		}
	}
	err = r.db.Update(ctx, func(tx *store.Tx) error {
		found, err := must(ctx, tx, name)
		if err != nil {
			return err
		}
		p = found.Person
		if c.Scopes != nil {
			p.Scopes = inOrder(c.Scopes)
		}
		if c.Roles != nil {
			p.Roles = *c.Roles
		}
		if c.Guest != nil {
			p.Guest = *c.Guest
		}
		if err := c.quiet(&p); err != nil {
			return err
		}
		if c.Mail != nil {
			p.Mail = *c.Mail
		}
		guest := 0
		if p.Guest {
			guest = 1
		}
		if _, err := tx.Exec(ctx, "UPDATE people SET scopes = ?, roles = ?, guest = ?, mail = ?, quiet = ?, zone = ?, quiet_except = ? WHERE name = ?",
			join(p.Scopes, " "), strings.Join(p.Roles, " "), guest, p.Mail, p.Quiet, p.Zone, p.QuietExcept, p.Name); err != nil {
			return fmt.Errorf("change person: %w", err)
		}
		detail := p.allows()
		if c.Mail != nil {
			detail += ", mail address changed"
		}
		return tell(tx, p.Name, Event{Type: "changed", Detail: detail})
	})
	return p, err
}

// allows returns what a person has, for the audit log.
func (p Person) allows() string {
	text := "scopes " + join(p.Scopes, ",")
	if len(p.Roles) > 0 {
		text += ", roles " + strings.Join(p.Roles, ",")
	}
	if p.Guest {
		text += ", guest"
	}
	if p.Quiet != "" {
		text += ", quiet " + p.Quiet
	}
	return text
}

func admit(ctx context.Context, tx *store.Tx, n Newcomer) error {
	if n.Scopes == nil {
		n.Scopes = Standard
	}
	old, err := find(ctx, tx, n.Name)
	if err != nil {
		return err
	}
	if old != nil && old.removed == 0 {
		return fault.New(Exists, fmt.Sprintf("there is already a person %s", old.Name), "to change the person, run: deskhand people set "+old.Name+" --scope SCOPE --role NAME")
	}
	now, turn := tx.Now.UnixMilli(), int64(1)
	if old != nil {
		turn = old.turn + 1
		if _, err := tx.Exec(ctx, "DELETE FROM people WHERE name = ?", old.Name); err != nil {
			return fmt.Errorf("replace person: %w", err)
		}
	}
	guest := 0
	if n.Guest {
		guest = 1
	}
	if _, err := tx.Exec(ctx, "INSERT INTO people (name, folded, scopes, added, turn, guest, roles, mail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		n.Name, strings.ToLower(n.Name), join(inOrder(n.Scopes), " "), now, turn, guest, strings.Join(n.Roles, " "), n.Mail); err != nil {
		return fmt.Errorf("add person: %w", err)
	}
	allows := Person{Scopes: inOrder(n.Scopes), Roles: n.Roles, Guest: n.Guest}.allows()
	if err := tell(tx, n.Name, Event{Type: "added", Detail: allows}); err != nil {
		return err
	}
	for _, project := range n.Projects {
		if err := enter(ctx, tx, project, n.Name); err != nil {
			return err
		}
	}
	return nil
}

// Here records that a person uses a process on a machine of the installation, as its setting
// person says.
func (r *Register) Here(ctx context.Context, name string) error {
	var known bool
	err := r.db.View(ctx, func(tx *store.Tx) error {
		var n int
		err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM people WHERE name = ? AND signed = turn", name).Scan(&n)
		known = n > 0
		return err
	})
	if err != nil || known {
		return err
	}
	return r.db.Update(ctx, func(tx *store.Tx) error {
		p, err := must(ctx, tx, name)
		if err != nil {
			return err
		}
		return signed(ctx, tx, p)
	})
}

// Remove ends a person's sessions, tokens, invitations and identities, and hides the
// name. The history keeps it. In the same transaction, it calls also with the person's exact
// name, for what others keep of a person. Fails with code [NoPerson].
func (r *Register) Remove(ctx context.Context, name string, also ...Also) error {
	return r.db.Update(ctx, func(tx *store.Tx) error {
		p, err := must(ctx, tx, name)
		if err != nil {
			return err
		}
		now := tx.Now.UnixMilli()
		for _, change := range []string{
			"UPDATE people SET removed = ? WHERE name = ?",
			"UPDATE people_tokens SET revoked = ? WHERE person = ? AND revoked = 0",
			"UPDATE people_identities SET ended = ? WHERE person = ? AND ended = 0",
		} {
			if _, err := tx.Exec(ctx, change, now, p.Name); err != nil {
				return fmt.Errorf("remove person: %w", err)
			}
		}
		if err := errors.Join(endInvitations(ctx, tx, p.Name), vacate(ctx, tx, p.Name)); err != nil {
			return err
		}
		if err := callAll(ctx, tx, p.Name, also); err != nil {
			return err
		}
		return tell(tx, p.Name, Event{Type: "removed"})
	})
}

// SignOut ends a person's sessions and invitations. Tokens stay valid. In the same
// transaction, it calls also with the person's exact name, for what others keep of sessions.
// Fails with code [NoPerson].
func (r *Register) SignOut(ctx context.Context, name string, also ...Also) error {
	return r.db.Update(ctx, func(tx *store.Tx) error {
		p, err := must(ctx, tx, name)
		if err != nil {
			return err
		}
		return signOut(ctx, tx, p.Name, also)
	})
}

// Also is a change that others make in the transaction of a change to a person.
type Also = func(ctx context.Context, tx *store.Tx, name string) error

func callAll(ctx context.Context, tx *store.Tx, name string, all []Also) error {
	for _, f := range all {
		if err := f(ctx, tx, name); err != nil {
			return err
		}
	}
	return nil
}

// signOut also ends invitations: who holds one would otherwise sign in again.
func signOut(ctx context.Context, tx *store.Tx, name string, also []Also) error {
	if _, err := tx.Exec(ctx, "UPDATE people SET turn = turn + 1 WHERE name = ?", name); err != nil {
		return fmt.Errorf("sign out person: %w", err)
	}
	if err := endInvitations(ctx, tx, name); err != nil {
		return err
	}
	if err := callAll(ctx, tx, name, also); err != nil {
		return err
	}
	return tell(tx, name, Event{Type: "signedOut"})
}

// row is a person in the store.
type row struct {
	Person
	removed, turn int64
}

// find returns the person with a name, in any case, or nil.
func find(ctx context.Context, tx *store.Tx, name string) (*row, error) {
	p, err := scanPerson(tx.QueryRow(ctx, "SELECT "+personColumns+" FROM people WHERE folded = ?", strings.ToLower(name)))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read person: %w", err)
	}
	return p, nil
}

const personColumns = "name, scopes, added, removed, turn, guest, roles, mail, quiet, zone, quiet_except"

func scanPerson(from interface{ Scan(...any) error }) (*row, error) {
	p, scopes, roles, added, guest := row{}, "", "", int64(0), 0
	err := from.Scan(&p.Name, &scopes, &added, &p.removed, &p.turn, &guest, &roles, &p.Mail, &p.Quiet, &p.Zone, &p.QuietExcept)
	p.Scopes, p.Added, p.Guest, p.Roles = splitScopes(scopes), time.UnixMilli(added).UTC(), guest == 1, strings.Fields(roles)
	return &p, err
}

// must is like find, and fails with [NoPerson] if no person has the name now.
func must(ctx context.Context, tx *store.Tx, name string) (*row, error) {
	p, err := find(ctx, tx, name)
	if err != nil || p != nil && p.removed == 0 {
		return p, err
	}
	all, err := list(ctx, tx)
	if err != nil {
		return nil, err
	}
	return nil, noPerson(name, all)
}

func noPerson(name string, all []Person) error {
	if len(all) == 0 {
		return fault.New(NoPerson, fmt.Sprintf("there is no person %.80q: nobody was added yet", name), "run: deskhand people add NAME")
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	return fault.New(NoPerson, fmt.Sprintf("there is no person %.80q", name), "the people are "+strings.Join(names, ", ")+"; to add one, run: deskhand people add NAME")
}

// List returns the people by name. It is empty, not nil, if nobody was added.
func (r *Register) List(ctx context.Context) (all []Person, err error) {
	err = r.db.View(ctx, func(tx *store.Tx) error {
		all, err = list(ctx, tx)
		return err
	})
	for i := range all {
		if p := &all[i]; r.NoMail && p.mailOnly {
			p.Lacking = lackingWay(p.Name) + "; the mail address gets nothing, because mail.server is not set here, and no running server sends mail"
		}
	}
	return all, err
}

// lackingWay says that a question for a person would reach nobody.
func lackingWay(name string) string {
	return name + " has no browser signed in, no invitation and no token that may answer"
}

func list(ctx context.Context, tx *store.Tx) ([]Person, error) {
	tokens, err := listTokens(ctx, tx, "")
	if err != nil {
		return nil, err
	}
	projects, err := members(ctx, tx)
	if err != nil {
		return nil, err
	}
	invited, err := invitations(ctx, tx)
	if err != nil {
		return nil, err
	}
	tokensOf, projectsOf := map[string][]Token{}, map[string][]string{} // by name
	for _, t := range tokens {
		if t.Ended(tx.Now) == "" {
			tokensOf[t.For] = append(tokensOf[t.For], t)
		}
	}
	for project, names := range projects {
		for _, name := range names {
			projectsOf[name] = append(projectsOf[name], project)
		}
	}
	rows, err := tx.Query(ctx, "SELECT name, scopes, added, guest, roles, mail, quiet, zone, quiet_except, turn, signed FROM people WHERE removed = 0 ORDER BY folded")
	if err != nil {
		return nil, fmt.Errorf("read people: %w", err)
	}
	defer rows.Close()
	all := []Person{}
	for rows.Next() {
		p, scopes, roles, added, guest, turn, signed := Person{}, "", "", int64(0), 0, int64(0), int64(0)
		if err := rows.Scan(&p.Name, &scopes, &added, &guest, &roles, &p.Mail, &p.Quiet, &p.Zone, &p.QuietExcept, &turn, &signed); err != nil {
			return nil, fmt.Errorf("read person: %w", err)
		}
		p.Scopes, p.Added, p.Guest, p.Projects = splitScopes(scopes), time.UnixMilli(added).UTC(), guest == 1, append([]string{}, projectsOf[p.Name]...)
		p.Roles = strings.Fields(roles)
		p.Boundary = projects.Boundary(p.Name, p.Guest)
		slices.Sort(p.Projects)
		may := slices.Contains(p.Scopes, access.Answer)
		p.Reachable = may
		way := may && (turn == signed || invited[p.Name])
		for _, t := range tokensOf[p.Name] {
			p.Tokens++
			p.Reachable = p.Reachable || slices.Contains(t.Scopes, access.Answer)
			way = way || slices.Contains(t.Scopes, access.Answer)
		}
		if !p.Reachable {
			p.Lacking = p.Name + " may not answer questions"
		} else if p.mailOnly = !way && p.Mail != ""; !way && !p.mailOnly {
			p.Lacking = lackingWay(p.Name)
		}
		all = append(all, p)
	}
	return all, rows.Err()
}

// Person returns the person with a name, in any case. Fails with code [NoPerson].
func (r *Register) Person(ctx context.Context, name string) (p Person, err error) {
	err = r.db.View(ctx, func(tx *store.Tx) error {
		found, err := must(ctx, tx, name)
		if err == nil {
			p = found.Person
		}
		return err
	})
	return p, err
}

// Named returns what a name may do on a surface that has people of its own, for example
// Slack. A person may do what the person's browsers may, and one who was removed nothing. The
// name of nobody may answer in projects without members.
func (r *Register) Named(ctx context.Context, name string) (c access.Caller, err error) {
	err = r.db.View(ctx, func(tx *store.Tx) error {
		p, err := find(ctx, tx, name)
		if err != nil {
			return err
		}
		all, err := members(ctx, tx)
		switch {
		case p == nil:
			c = access.Caller{Name: name, Scopes: []access.Scope{access.Answer}, Boundary: all.Boundary(name, false)}
		case p.removed != 0:
			c = access.Caller{Name: p.Name, Boundary: access.Boundary{Confined: true}}
		default:
			c = callerOf(p, all)
		}
		return err
	})
	return c, err
}

// Session returns the caller of a browser in which a person signed in with an
// invitation. turn is the number that [Register.Accept] returned then. ok is false if
// the session is over.
func (r *Register) Session(ctx context.Context, name string, turn int64) (c access.Caller, ok bool, err error) {
	s, err := r.Snapshot(ctx, []string{name}, nil)
	if err == nil {
		c, ok = s.Session(name, turn)
	}
	return c, ok, err
}

// Caller returns the caller that a person is who proved to be one by other means than a
// session, for example how. Fails with code [NoPerson].
func (r *Register) Caller(ctx context.Context, name, how string) (c access.Caller, p Person, err error) {
	err = r.db.View(ctx, func(tx *store.Tx) error {
		found, err := must(ctx, tx, name)
		if err != nil {
			return err
		}
		p = found.Person
		all, err := members(ctx, tx)
		c = callerOf(found, all)
		c.How, p.Boundary = how, c.Boundary
		return err
	})
	return c, p, err
}

// callerOf returns the caller of a person's browser.
func callerOf(p *row, all access.Members) access.Caller {
	return access.Caller{Level: access.Agents, How: access.ByInvite, Name: p.Name, Scopes: p.Scopes, Roles: p.Roles, Boundary: all.Boundary(p.Name, p.Guest)}
}
