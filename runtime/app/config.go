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

// Config configures an installation for one process. Parts that only some
// processes need are each a [Part], whose error counts on first use.
type Config struct {
	// Command is this process's command line, for example "deskhand serve".
	// Attempt is the ID of the attempt it runs in; empty for none.
	Command, Attempt string
	// Name and Version are what its servers report about themselves.
	Name, Version string
	// In is the context of its questions: the attempt and the folder.
	In elicit.Context
	// Log receives messages for the operator. Nil discards them.
	Log *slog.Logger

	// Place is the location of the store; see [store.Open].
	Place Part[string]
	// StateDir is the installation's own state folder.
	StateDir Part[string]
	// Members are the people that questions can be addressed to.
	Members Part[[]elicit.Member]
	// Spans is where spans are exported; nil for nowhere.
	Spans Part[*telemetry.Options]
	// Tasks are the limits and agents of attempts. [App.Work] connects the manager
	// with questions.
	Tasks  Part[tasks.Options]
	People Part[People]
	Docs   Part[Docs]
	// Views reports whether clients that can show views get them.
	Views Part[bool]
	// Upstreams is nil if no upstream is configured.
	Upstreams Part[*Upstreams]
	// Agents is nil if other agents may not ask.
	Agents Part[*Agents]
	// Surfaces is zero if no surface besides the server is configured.
	Surfaces Part[surface.Options]
	// Notices is how people are notified of new questions.
	Notices Part[Notices]
	// Token is the bearer token that agents use at the HTTP servers; empty for one
	// of the installation's own, in StateDir.
	Token Part[string]
	// Visitors is how people sign in at the HTTP servers. An empty Key stands for
	// one of the installation's own.
	Visitors Part[web.People]
	// Hosts and Origins are accepted in requests in addition to the defaults.
	Hosts, Origins []string
	// PublicURL is the pages' public address; empty for the address they are
	// served at.
	PublicURL string
}

// Part is a value from the settings, or what is wrong with them: a fault that names
// the setting to correct. Its zero value is the zero value of T.
type Part[T any] struct {
	Value T
	Err   error
}

// PartOf returns the results of a reader of settings as one value.
func PartOf[T any](value T, err error) Part[T] { return Part[T]{value, err} }

// Get returns the value, or what is wrong.
func (p Part[T]) Get() (T, error) { return p.Value, p.Err }

// People configures how questions reach people.
type People struct {
	Wait     time.Duration // for a question that sets no timeout
	WaitSet  bool          // the user configured Wait
	Hold     time.Duration // how long a call is held open; 0: depends on the client
	Secrets  bool          // questions for secrets are accepted
	Ref      bool          // ask_user uses the specification's schema
	Inbox    string        // InboxAuto, InboxOff or HOST:PORT
	Attended bool          // opening the inbox counts as a way to reach a person
}

// Values of [People.Inbox] other than an address.
const (
	InboxAuto = "auto"
	InboxOff  = "off"
)

// HasInbox reports whether to serve a browser inbox: either an address is set,
// or someone may open it.
func (p People) HasInbox() bool {
	return p.Inbox != InboxOff && (p.Attended || p.Inbox != InboxAuto)
}

// Docs selects the served index and configures how it is served.
type Docs struct {
	Dir       string // the index's folder
	Tools     docs.Options
	Searching search.Options
	// Shelf is a folder of libraries that are served instead of Dir; empty: Dir is
	// served. Libraries are the IDs or names of the ones to serve; empty: all.
	Shelf     string
	Libraries []string
	// Record stores questions for which a search found little in the state folder,
	// for a report on what the docs lack: see package gaps.
	Record bool
}

// Upstreams configures the MCP servers whose tools are served too.
type Upstreams struct {
	All        []gateway.Upstream
	Disclosure gateway.Disclosure
	Prefix     string // prefix of the tools' names
	Many       string // why several people's agents call; empty: only one person's
	Addr, URL  string // of the pages to connect on; may be empty
}

// Agents configures what other agents can do over A2A.
type Agents struct {
	Skill             string   // for messages that name no skill
	Project, Executor string   // for run-task; empty: no run-task
	PushTo            []string // HOST:PORT on this machine or its network
}

// Notices configures how people are notified of new questions.
type Notices struct {
	Hooks []notify.Hook
	Quiet notify.Quiet
	Base  string // base URL of links; empty: the pages' own address
}

// Watch is a docs folder that is rebuilt into the index while it is served.
type Watch struct {
	Dir      string // empty: watches nothing
	Embedder func() (embed.Embedder, error)
}
