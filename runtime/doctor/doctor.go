// Package doctor checks an installation and the coding agents that use it. Each check
// results in ok, a warning, or a failure with the next step.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/setup"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/text"
)

// Status is the result of a check.
type Status string

// Statuses. Only Failed means that something does not work.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Failed  Status = "failed"
)

// Check is one line of the report.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"` // what to do; rarely set if Status is OK
}

// Options configures what is checked.
type Options struct {
	App     *app.App
	Env     setup.Env
	Version string
	// Settings returns an error if the settings are invalid. Ignored lists the settings
	// in an untrusted file, and Trust is the command that allows them.
	Settings       func() error
	Ignored, Trust string
	Index          string // folder
	Embed          string // specification of the embedding model
	Embedder       func() (embed.Embedder, error)
	Place          func() (string, error) // location of the store
	Inbox          string                 // HOST:PORT, or "off"
	Addr           string                 // HOST:PORT of serve --http
	Sandbox        box.Mode
}

// patience is how long to wait for a server: slightly less than the shortest
// timeout of a client.
const patience = 25 * time.Second

// Run performs all checks and calls tell after each check.
func Run(ctx context.Context, o Options, tell func(Check)) (all []Check) {
	add := func(list ...Check) {
		for _, c := range list {
			tell(c)
		}
		all = append(all, list...)
	}
	add(o.version(), o.settings(), o.index(), o.embedding(ctx), o.store(ctx))
	add(o.messages(ctx)...)
	add(o.forges(ctx)...)
	add(o.ports(ctx)...)
	o.clients(ctx, func(c Check) { add(c) })
	add(o.executors(ctx)...)
	add(o.sandbox(ctx))
	return all
}

// Healthy reports whether no check has failed.
func Healthy(all []Check) bool {
	return !slices.ContainsFunc(all, func(c Check) bool { return c.Status == Failed })
}

// failed returns a failed check that has the error's message and hint. If the error
// has no hint, the parameter next is used instead.
func failed(name string, err error, next string) Check {
	c := Check{Name: name, Status: Failed, Detail: text.OneLine(err.Error()), Next: next}
	f := fault.Of(err)
	if f == nil {
		f = app.Expected(err)
	}
	if f != nil && f.Hint != "" {
		c.Next = f.Hint
	}
	return c
}

func (o Options) version() Check {
	c := Check{Name: "version", Status: OK, Detail: o.Version}
	if _, err := o.Env.Look("deskhand"); err != nil {
		c.Status, c.Detail, c.Next = Warning, o.Version+"; deskhand is not on PATH", "add it to PATH; entries in project files start it by name"
	}
	return c
}

func (o Options) settings() Check {
	if err := o.Settings(); err != nil {
		return failed("settings", err, "show the settings: deskhand config")
	}
	if o.Ignored != "" {
		return Check{"settings", Warning, o.Ignored, "review and allow them: " + o.Trust}
	}
	return Check{Name: "settings", Status: OK, Detail: "all settings are valid"}
}

func (o Options) index() Check {
	shelf, own, beside := o.App.Shelves()
	if shelf != "" && own == "" {
		return Check{Name: "index", Status: OK, Detail: "the libraries in " + shelf + " are served instead of an index"}
	}
	r, err := artifact.Open(o.Index)
	if f := fault.Of(err); f != nil && f.Code == "no_artifact" {
		docs := setup.FindDocs(o.Env.Project)
		if docs.Dir == "" {
			return Check{"index", Warning, "this project has no docs", "write some Markdown into the folder docs, then run: deskhand init"}
		}
		return Check{"index", Warning, "there is no index in " + o.Index, "build it: deskhand init"}
	}
	if err != nil {
		return failed("index", err, "rebuild it: deskhand index")
	}
	defer r.Close()
	m := r.Metadata()
	c := Check{Name: "index", Status: OK, Detail: fmt.Sprintf("%s, %s in %s", text.Count(m.Stats.TotalFiles, "page"), text.Count(m.Stats.TotalChunks, "chunk"), o.Index)}
	if own != "" {
		c.Detail += ", served with the libraries in " + shelf
	}
	if beside != "" {
		c.Detail += "; the libraries in " + beside + " are not served"
		c.Next = "to serve the libraries instead: deskhand serve --shelf " + beside
	}
	return c
}

// embedding computes one vector. With a remote model, that is one short request.
func (o Options) embedding(ctx context.Context) Check {
	const name = "embedding model"
	e, err := o.Embedder()
	if err != nil {
		return failed(name, err, "choose another model with --embed")
	}
	if e == nil {
		return Check{Name: name, Status: OK, Detail: "none (keyword search only)"}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := e.Query(ctx, "deskhand"); err != nil {
		return failed(name, err, "start the service, or choose another model with --embed")
	}
	return Check{Name: name, Status: OK, Detail: o.Embed}
}

func (o Options) store(ctx context.Context) Check {
	place, err := o.Place()
	if err != nil {
		return failed("store", err, "")
	}
	name := "store"
	if store.IsPostgres(place) {
		name = "PostgreSQL"
	}
	db, err := o.App.Store(ctx)
	if err == nil {
		err = db.Probe(ctx)
	}
	if err != nil {
		return failed(name, err, "show the settings: deskhand config")
	}
	return Check{Name: name, Status: OK, Detail: store.Shown(place)}
}

// messages checks whether messages reach people outside the pages.
func (o Options) messages(ctx context.Context) (list []Check) {
	d, err := o.App.Delivery(ctx)
	if err != nil {
		return nil // the settings and the store have their own checks
	}
	if d.Server != "" {
		c := Check{Name: "mail server", Status: OK, Detail: d.Server + " accepts connections and the sign-in"}
		if d.Trouble != nil {
			c = failed("mail server", fmt.Errorf("%s: %w", d.Server, d.Trouble), "check mail.server, mail.user and DESKHAND_MAIL_PASSWORD")
		}
		list = append(list, c)
	}
	c := Check{Name: "messages to people", Status: OK, Detail: fmt.Sprintf("%d waiting to be sent", d.Waiting)}
	if d.Dead > 0 {
		c.Status, c.Detail, c.Next = Warning, fmt.Sprintf("%d could not be sent; %s", d.Dead, c.Detail), "see why, and retry or drop them: deskhand outbox list"
	}
	return append(list, c)
}

// forges lists the forges with a stored token.
func (o Options) forges(ctx context.Context) []Check {
	tokens, err := o.App.ForgeTokens(ctx)
	if err != nil {
		return nil // the settings and the store have their own checks
	}
	const name = "forge tokens"
	all, err := tokens.Connections(ctx)
	if err != nil {
		return []Check{failed(name, err, "store them again: deskhand connect HOST")}
	}
	var hosts []string
	for _, one := range all {
		hosts = append(hosts, one.Name)
	}
	if len(hosts) == 0 {
		return nil
	}
	return []Check{{Name: name, Status: OK, Detail: "stored for " + strings.Join(hosts, ", ")}}
}

// ports checks the inbox's port and the HTTP server's port.
func (o Options) ports(ctx context.Context) []Check {
	var list []Check
	stations := map[string]bool{}
	if hub, err := o.App.Hub(ctx); err == nil {
		up, _ := hub.Reach(ctx) // the store has its own check
		for _, s := range up {
			stations[app.HostOf(s.Address)] = true
		}
	}
	for _, one := range []struct{ name, addr string }{{"inbox port", o.Inbox}, {"HTTP port", o.Addr}} {
		c := Check{Name: one.name, Status: OK, Detail: one.addr + " is free"}
		l, err := net.Listen("tcp", one.addr)
		switch {
		case one.addr == "off":
			c.Detail = "the inbox is off"
		case err == nil:
			l.Close()
		case stations[one.addr]:
			c.Detail = "deskhand serves " + one.addr
		case app.Listening(ctx, one.addr):
			c.Status, c.Detail, c.Next = Warning, "another program uses "+one.addr, "no action is needed; the inbox uses another port"
			if one.addr == o.Addr {
				c.Next = "with serve --http, choose another port: --port N"
			}
		default:
			c = failed(one.name, err, "choose another address")
		}
		list = append(list, c)
	}
	return list
}

// clients starts the server as each client's entry specifies, and lists its tools.
func (o Options) clients(ctx context.Context, add func(Check)) {
	connections, without := o.Env.Connections()
	type answer struct {
		detail string
		err    error
	}
	known := map[string]answer{}
	for _, c := range connections {
		check := Check{Name: c.Name, Status: OK}
		key := fmt.Sprint(c.Command(), c.Dir, c.Env)
		switch got, asked := known[key]; {
		case c.Err != nil:
			check = Check{c.Name, Failed, text.OneLine(c.Err.Error()), "fix the file"}
			add(check)
			continue
		case c.Off:
			check.Status, check.Detail, check.Next = Warning, c.Path+": "+c.Entry+" is disabled", "enable it in "+c.Name
			add(check)
			continue
		case c.Unvetted:
			check.Status, check.Detail = Warning, c.Path+": not started, because the command in this project file differs from the one that \"deskhand init\" writes: "+text.OneLine(strings.Join(c.Command(), " "))
			check.Next = "review the entry, and start the command yourself if you trust it"
			add(check)
			continue
		case !asked:
			got.detail, got.err = probe(ctx, c)
			known[key] = got
		}
		got := known[key]
		if check.Detail = c.Path + ": " + got.detail; got.err != nil {
			check = failed(c.Name, fmt.Errorf("%s: cannot connect to %s: %w", c.Path, strings.Join(c.Command(), " "), got.err), "run that command to see why, or rewrite the entry: deskhand init --client "+c.Client)
		}
		if got.err == nil && c.Once != "" {
			check.Status, check.Next = Warning, c.Once
			check.Detail += "; not approved in " + c.Name + " yet"
		}
		add(check)
	}
	for _, c := range without {
		add(Check{c.Name, Warning, "is installed but not connected", "deskhand init --client " + c.ID})
	}
	if len(connections)+len(without) == 0 {
		add(Check{"agents", Warning, "no coding agent is connected", "connect one: deskhand init --client NAME"})
	}
}

// probe starts a server and lists its tools.
func probe(ctx context.Context, c setup.Connection) (detail string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := exec.LookPath(c.Server.Command); err != nil && !filepath.IsAbs(c.Server.Command) {
		return "", errors.New(c.Server.Command + " is not on PATH")
	}
	begun := time.Now()
	client, err := mcpserver.Dial(ctx, mcpserver.Target{Command: c.Command(), Dir: c.Dir, Env: c.Env})
	if err != nil {
		return "", orLate(err)
	}
	defer client.Close()
	tools, err := client.ListTools(ctx)
	if err != nil {
		return "", orLate(err)
	}
	if len(tools) == 0 {
		return "", errors.New("it has no tools")
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("connects in %s, %d tools: %s", time.Since(begun).Round(10*time.Millisecond), len(tools), strings.Join(names, ", ")), nil
}

// orLate returns err, or an error that says so if the time was up.
func orLate(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("it has not answered within %s", patience)
	}
	return err
}

// executors reports for each installed agent whether a person has signed in to it, if
// that can be determined. It lists the missing agents on one line.
func (o Options) executors(ctx context.Context) (list []Check) {
	const name = "executors"
	m, err := o.App.Work(ctx)
	if err != nil {
		return []Check{failed(name, err, "list the executors: deskhand tasks executors")}
	}
	all, err := m.Executors(ctx)
	if err != nil {
		return []Check{failed(name, err, "list the executors: deskhand tasks executors")}
	}
	var missing []string
	for _, e := range all {
		if e.Missing != "" {
			missing = append(missing, e.ID)
			continue
		}
		if e.ID == "fake" {
			continue
		}
		if e.Container != nil {
			list = append(list, containerCheck(ctx, e.ID, *e.Container))
			continue
		}
		c := Check{Name: "executor " + e.ID, Status: OK, Detail: "installed"}
		switch where, known := o.Env.SignIn(e.ID); {
		case where != "":
			c.Detail = "installed, signed in (" + where + ")"
		case known:
			c.Status, c.Detail, c.Next = Warning, "installed, no sign-in found", "start the agent once and sign in"
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return []Check{{name, Warning, "cannot start any coding agent: " + strings.Join(missing, ", "), "see how to install one: deskhand tasks executors"}}
	}
	if len(missing) > 0 {
		list = append(list, Check{Name: name, Status: OK, Detail: "not installed: " + strings.Join(missing, ", ")})
	}
	return list
}

// containerCheck reports whether an executor's container can be started: whether its
// engine works, and whether the engine has the image.
func containerCheck(ctx context.Context, id string, c box.ContainerConfig) Check {
	engine, has, err := box.EngineFor(ctx, c)
	switch {
	case err != nil:
		return Check{"executor " + id, Failed, text.OneLine(err.Error()), box.MissingHint(c.Engine)}
	case !has:
		return Check{"executor " + id, Warning, fmt.Sprintf("%s works, and does not have the image %s yet", engine, c.Image), fmt.Sprintf("pull or build it: %s pull %s", engine, c.Image)}
	}
	return Check{Name: "executor " + id, Status: OK, Detail: fmt.Sprintf("%s, image %s", engine, c.Image)}
}

func (o Options) sandbox(ctx context.Context) Check {
	mode, why, err := box.Choose(ctx, o.Sandbox)
	switch {
	case err != nil:
		return failed("sandbox", err, "list the sandboxes: deskhand tasks sandbox")
	case mode == box.None:
		return Check{"sandbox", Warning, "agents run without a sandbox: " + text.OneLine(why), "list the sandboxes: deskhand tasks sandbox"}
	}
	return Check{Name: "sandbox", Status: OK, Detail: text.OneLine(strings.TrimSuffix(string(mode)+", "+why, ", "))}
}
