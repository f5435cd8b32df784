package app

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/a2a"
	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/rota"
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/rules"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/webpush"
)

// Register returns the people of this installation's store.
func (a *App) Register(ctx context.Context) (*people.Register, error) {
	db, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	r := people.In(db)
	if _, err := a.config.Notices.Get(); err == nil && !a.sendsMail() { // a process may lack the password that the server has
		up, err := elicit.Stations(ctx, db)
		r.NoMail = err == nil && !slices.ContainsFunc(up, func(s elicit.Station) bool { return s.Mail })
	}
	return r, nil
}

// sendsMail reports whether this process could send mail.
func (a *App) sendsMail() bool {
	n, err := a.config.Notices.Get()
	return err == nil && n.Mail != nil
}

// Forget deletes what serves only a person who is removed: the credentials for upstreams, the
// browsers to notify, and links in mails.
func (a *App) Forget(ctx context.Context, tx *store.Tx, name string) error {
	for _, forget := range []func(context.Context, *store.Tx, string) error{gateway.Forget, webpush.Forget, outbox.EndLinks} {
		if err := forget(ctx, tx, name); err != nil {
			return err
		}
	}
	return nil
}

// EndBrowsers deletes the browsers to notify of a person who is signed out in all of them.
func (a *App) EndBrowsers(ctx context.Context, tx *store.Tx, name string) error {
	return webpush.Forget(ctx, tx, name)
}

// Retire returns the function that gives up a name which another person gets: what is kept of
// its former person is kept under a name that nobody can have.
func (a *App) Retire(ctx context.Context) (func(ctx context.Context, tx *store.Tx, name, former string) error, error) {
	hub, err := a.Hub(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, tx *store.Tx, name, former string) error {
		for _, retire := range []func(context.Context, *store.Tx, string, string) error{tasks.Retire, a2a.Retire, hub.Retire} {
			if err := retire(ctx, tx, name, former); err != nil {
				return err
			}
		}
		return a.Forget(ctx, tx, name)
	}, nil
}

// members implements [elicit.Options.People].
func (a *App) members(ctx context.Context) (all []elicit.Member, err error) {
	r, err := a.Register(ctx)
	if err != nil {
		return nil, err
	}
	list, err := r.List(ctx)
	for _, p := range list {
		m := elicit.Member{Principal: p.Name, Roles: p.Roles}
		if m.Lacking = a.lacking(p); m.Lacking != "" {
			m.Remedy = "run: deskhand people invite " + p.Name
			if !p.Reachable {
				m.Remedy = "run: deskhand people set " + p.Name + " --scope answer"
			}
		}
		all = append(all, m)
	}
	return all, err
}

// lacking returns why a person cannot be asked, or "". With a proxy that signs people in,
// each can come.
func (a *App) lacking(p people.Person) string {
	if proxy, err := a.config.Proxy.Get(); p.Reachable && err == nil && proxy.Header != "" {
		return ""
	}
	return p.Lacking
}

// world implements [elicit.Options.World].
func (a *App) world(ctx context.Context, project string) (w routing.World, err error) {
	r, err := a.Register(ctx)
	if err != nil {
		return w, err
	}
	all, err := r.List(ctx)
	if err != nil {
		return w, err
	}
	for _, p := range all {
		if a.lacking(p) != "" || !p.Boundary.Sees(project) {
			continue
		}
		quiet, err := routing.ParseQuiet(p.Quiet, p.Zone, p.QuietExcept)
		if err != nil {
			a.log.Warn("cannot read quiet hours", "person", p.Name, "error", err)
		}
		w.People = append(w.People, routing.Person{Name: p.Name, Roles: p.Roles, Quiet: quiet})
	}
	members, err := a.config.Members.Get() // of surfaces, such as Slack
	for _, m := range members {
		if m.Principal != elicit.Local && !slices.ContainsFunc(w.People, func(p routing.Person) bool { return p.Name == m.Principal }) &&
			!slices.ContainsFunc(all, func(p people.Person) bool { return p.Name == m.Principal }) {
			w.People = append(w.People, routing.Person{Name: m.Principal, Roles: m.Roles})
		}
	}
	if err != nil {
		return w, err
	}
	rotas, err := r.Rotas(ctx)
	w.Rotas = map[string]*rota.Rota{}
	for _, one := range rotas {
		w.Rotas[one.Name] = one.Rota
	}
	return w, err
}

// policy implements [elicit.Options.Policy].
func (a *App) policy(in elicit.Context) string {
	p, err := a.config.People.Get()
	if err != nil {
		return ""
	}
	for _, project := range []string{in.Project, in.ProjectID} {
		if steps, found := p.Routing[project]; found && project != "" {
			return steps.String()
		}
	}
	return p.Routing[""].String()
}

// named implements [elicit.Options.Caller].
func (a *App) named(ctx context.Context, name string) (access.Caller, error) {
	r, err := a.Register(ctx)
	if err != nil {
		return access.Caller{}, err
	}
	return r.Named(ctx, name)
}

// ProjectID returns the ID of the project with a name.
func (a *App) ProjectID(ctx context.Context, name string) (string, error) {
	m, err := a.Work(ctx)
	if err != nil {
		return "", err
	}
	return m.Find(ctx, tasks.KindProject, name)
}

// ProjectName returns the name of the project with an ID, or "" if there is none.
func (a *App) ProjectName(ctx context.Context, id string) (string, error) {
	m, err := a.Work(ctx)
	if err != nil {
		return "", err
	}
	found, err := m.IDs(ctx, tasks.KindProject, id)
	if err != nil || len(found) != 1 {
		return "", err
	}
	return found[0].Name, nil
}

// rulesOf returns the rules of a store. A rule applies only while its person may answer.
func rulesOf(db *store.DB) *rules.Register {
	return &rules.Register{DB: db, Person: func(ctx context.Context, tx *store.Tx, name string) (rules.Person, error) {
		now, err := people.Now(ctx, tx, name)
		return rules.Person{Known: now.Known, Answers: now.Answers, Roles: now.Roles, Since: now.Added, Boundary: now.Boundary}, err
	}}
}

// known refuses a name in the settings that no person has, with code no_person.
func known(ctx context.Context, db *store.DB, name string) error {
	if name == "" {
		return nil
	}
	p, err := people.In(db).Person(ctx, name)
	if err == nil && p.Name == name {
		_ = people.In(db).Here(ctx, name) // a read-only store knows the person all the same
		return nil
	}
	if err == nil {
		err = fault.Misuse("the setting person is "+name+", and the person's name is "+p.Name, "write it the same way")
	}
	return err
}

// InviteLink returns the address at which a browser uses an invitation: at the public
// address if this process or a server knows one, otherwise at the server that has the
// pages now. here reports that only this machine reaches it. It fails with code no_inbox
// if there is no server.
func (a *App) InviteLink(ctx context.Context, secret string) (link string, here bool, err error) {
	in, err := a.Visitors()
	if err != nil {
		return "", false, err
	}
	base := strings.TrimSuffix(a.config.PublicURL, "/")
	if base == "" {
		hub, err := a.Hub(ctx)
		if err != nil {
			return "", false, err
		}
		up, err := hub.Reach(ctx)
		if err != nil {
			return "", false, err
		}
		if base = cmp.Or(publicAddress(up), InboxAddress(up)); base == "" {
			return "", false, fault.New("no_inbox", "no server has pages now, so an invitation would lead nowhere", "start deskhand serve --http first, or set public_url")
		}
	}
	link = in.InviteLink(base, secret)
	return link, in.Home(base) != base, nil
}

// publicAddress returns the public address that a server was started with, or "".
func publicAddress(up []elicit.Station) string {
	for _, s := range up {
		if s.Public != "" {
			return strings.TrimSuffix(s.Public, "/")
		}
	}
	return ""
}

// directory is a [web.Directory] that opens the store when it is first asked, because a
// server of docs may never need it.
type directory struct{ app *App }

// Bearer implements [web.Directory].
func (d directory) Bearer(ctx context.Context, secret string) (c access.Caller, until time.Time, err error) {
	r, err := d.app.Register(ctx)
	if err != nil {
		return c, until, err
	}
	return r.Bearer(ctx, secret)
}

// Snapshot implements [web.Directory].
func (d directory) Snapshot(ctx context.Context, names, tokens []string) (people.Snapshot, error) {
	r, err := d.app.Register(ctx)
	if err != nil {
		return people.Snapshot{}, err
	}
	return r.Snapshot(ctx, names, tokens)
}

// Session implements [web.Directory].
func (d directory) Session(ctx context.Context, name string, turn int64) (c access.Caller, ok bool, err error) {
	r, err := d.app.Register(ctx)
	if err != nil {
		return c, false, err
	}
	return r.Session(ctx, name, turn)
}

// Accept implements [web.Directory].
func (d directory) Accept(ctx context.Context, secret string) (name string, turn int64, err error) {
	r, err := d.app.Register(ctx)
	if err != nil {
		return "", 0, err
	}
	return r.Accept(ctx, secret)
}
