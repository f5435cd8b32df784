package app

import (
	"log/slog"
	"time"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/surface"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/telemetry"
	"github.com/deskhand/deskhand/runtime/tools/docs"
	"github.com/deskhand/deskhand/runtime/web"
)

// Config is what an installation is for one process. A part that not every
// process needs is a function: it is called when the part is first used, and its
// error is a fault that names the setting to correct. None may be nil that is
// used.
type Config struct {
	// Command is what this process is, as "deskhand serve"; Attempt is the one that
	// it runs in, empty for none.
	Command, Attempt string
	// Name is what its servers call themselves, Version that of the program.
	Name, Version string
	// In is what its questions belong to: the attempt, and the folder.
	In elicit.Context
	// Log gets what people who run it should know. Nil: nothing is logged.
	Log *slog.Logger

	// Place is where questions and tasks are kept: see [store.Open].
	Place func() (string, error)
	// StateDir is the folder of what is the installation's own.
	StateDir func() (string, error)
	// Members are whom questions can be for.
	Members func() ([]elicit.Member, error)
	// Spans is where spans go; nil: nowhere.
	Spans func() (*telemetry.Options, error)
	// Tasks are the limits and the agents of attempts. What connects a manager with
	// questions is set by [App.Work].
	Tasks  func() (tasks.Options, error)
	People func() (People, error)
	Docs   func() (Docs, error)
	// Views says whether clients that show views get them.
	Views func() (bool, error)
	// Upstreams is nil if none is configured.
	Upstreams func() (*Upstreams, error)
	// Agents is nil if other agents may not ask.
	Agents func() (*Agents, error)
	// Surfaces is zero if nothing reaches people beside the server.
	Surfaces func() (surface.Options, error)
	// Notices is how people are told of new questions; token is that of agents.
	Notices func(token string) (Notices, error)
	// Token is the bearer token of agents at the HTTP servers, and where a person
	// finds it.
	Token func() (token, where string, err error)
	// Visitors is how people come in at them.
	Visitors func() (web.People, error)
	// Hosts and Origins are further ones that requests may have.
	Hosts, Origins []string
	// PublicURL is where people reach the pages; empty: where they are served.
	PublicURL string
}

// People says how they are asked.
type People struct {
	Wait     time.Duration // of a question that does not say
	WaitSet  bool          // somebody chose Wait
	Hold     time.Duration // of a call; 0: by client
	Secrets  bool          // questions that ask for them are taken
	Ref      bool          // the schema of ask_user is its specification's
	Inbox    string        // InboxAuto, InboxOff or HOST:PORT
	Attended bool          // a person counts as reachable by coming to look
}

// What Inbox may be besides an address.
const (
	InboxAuto = "auto"
	InboxOff  = "off"
)

// HasInbox reports whether there is to be an inbox in the browser: somebody may
// come and look, or an address is set.
func (p People) HasInbox() bool {
	return p.Inbox != InboxOff && (p.Attended || p.Inbox != InboxAuto)
}

// Docs says which index is served, and how.
type Docs struct {
	Dir       string // of the index
	Tools     docs.Options
	Searching search.Options
	// Record keeps questions that found little in the state folder, for a report
	// on what the docs lack: see package gaps.
	Record bool
}

// Upstreams are other MCP servers whose tools are served.
type Upstreams struct {
	All        []gateway.Upstream
	Disclosure gateway.Disclosure
	Prefix     string // of the tools
	Many       string // why many people's agents call; empty: one person's do
	Addr, URL  string // of the pages to connect on; may be empty
}

// Agents says what other agents get over A2A.
type Agents struct {
	Skill             string   // what a message is for that does not say
	Project, Executor string   // of run-task; empty: there is none
	PushTo            []string // HOST:PORT on this machine or its network
}

// Notices says how people are told of new questions.
type Notices struct {
	Hooks []notify.Hook
	Quiet notify.Quiet
	Base  string // of links; empty: where the pages are
}

// Watch is a folder of docs that an index is built from while it is served.
type Watch struct {
	Dir      string // empty: none
	Embedder func() (embed.Embedder, error)
}
