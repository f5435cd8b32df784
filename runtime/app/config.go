package app

import (
	"log/slog"
	"time"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/audit"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/signin"
	"github.com/deskhand/deskhand/runtime/surface"
	"github.com/deskhand/deskhand/runtime/surface/mail"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/telemetry"
	"github.com/deskhand/deskhand/runtime/tools/docs"
	"github.com/deskhand/deskhand/runtime/web"
)

// Config configures an installation for one process. Settings that only some processes
// need are wrapped in [Part], which reports an error only when the setting is first used.
type Config struct {
	// Command is this process's command line, for example "deskhand serve". Attempt is
	// the ID of the attempt the process runs in, or empty if there is none.
	Command, Attempt string
	// Name and Version are reported by the process's servers.
	Name, Version string
	// In is the context of the process's questions: the attempt and the folder.
	In elicit.Context
	// Log receives messages for the operator. If nil, they are discarded.
	Log *slog.Logger

	// Place is the location of the store; see [store.Open].
	Place Part[string]
	// StateDir is the installation's state folder.
	StateDir Part[string]
	// Person is the name of the person who uses this process, or empty for the owner of
	// the installation.
	Person string
	// Members lists the people to whom questions can be addressed.
	Members Part[[]elicit.Member]
	// Spans configures where spans are exported. If nil, no spans are exported.
	Spans Part[*telemetry.Options]
	// Tasks configures the limits and agents of attempts. [App.Work] connects the
	// manager to the questions.
	Tasks  Part[tasks.Options]
	People Part[People]
	Docs   Part[Docs]
	// Views reports whether views are offered to clients that can show them.
	Views Part[bool]
	// Upstreams is nil if no upstream is configured.
	Upstreams Part[*Upstreams]
	// Agents is nil if A2A is not enabled.
	Agents Part[*Agents]
	// Surfaces is the zero value if the server is the only surface.
	Surfaces Part[surface.Options]
	// Syslog is where servers send the audit log, or nil.
	Syslog Part[*audit.Target]
	// Notices configures how people are notified of new questions.
	Notices Part[Notices]
	// Token is the bearer token for agents at the HTTP servers. If empty, the
	// installation generates one and keeps it in StateDir.
	Token Part[string]
	// Visitors configures how people sign in at the HTTP servers. If its Key is empty,
	// the installation generates one.
	Visitors Part[web.People]
	// SignIn configures an identity provider. It is nil if there is none.
	SignIn Part[*SignIn]
	// Proxy configures a proxy that signs people in, without Known.
	Proxy Part[web.Proxy]
	// Hosts and Origins are accepted in requests, in addition to the defaults.
	Hosts, Origins []string
	// PublicURL is the pages' public address. If empty, it is the address at
	// which they are served.
	PublicURL string
	// BaseURL is the address of an HTTP server behind a proxy, or empty if there is no
	// proxy. It may have a path.
	BaseURL string
}

// Part is a value read from the settings, or the error found while reading it: a fault
// that names the setting to fix. Its zero value is the zero value of T.
type Part[T any] struct {
	Value T
	Err   error
}

// PartOf returns the two results of a settings reader as one value.
func PartOf[T any](value T, err error) Part[T] { return Part[T]{value, err} }

// Get returns the value or the error.
func (p Part[T]) Get() (T, error) { return p.Value, p.Err }

// People configures how questions reach people.
type People struct {
	Wait     time.Duration // the wait for questions that set no timeout
	WaitSet  bool          // the user configured Wait
	Hold     time.Duration // how long a call is held open; 0 means it depends on the client
	Secrets  bool          // accept questions for secrets
	Ref      bool          // ask_user uses the specification's schema
	Inbox    string        // InboxAuto, InboxOff or HOST:PORT
	Attended bool          // opening the inbox counts as a way to reach a person
	// Routing has the steps for questions that nobody answers, by the project's name. The
	// empty name is for all others.
	Routing map[string]routing.Policy
}

// Values of [People.Inbox] other than an address.
const (
	InboxAuto = "auto"
	InboxOff  = "off"
)

// HasInbox reports whether to serve a browser inbox: either an address is set, or a
// person may open the inbox.
func (p People) HasInbox() bool {
	return p.Inbox != InboxOff && (p.Attended || p.Inbox != InboxAuto)
}

// Docs selects the served index and configures how it is served.
type Docs struct {
	Dir       string // the index's folder
	Tools     docs.Options
	Searching search.Options
	// Shelf is a folder of libraries to serve instead of Dir. If empty, Dir is
	// served. Libraries lists the IDs or names of the libraries to serve. If
	// empty, all are served.
	Shelf     string
	Libraries []string
	// Own is an index to serve with Shelf, as a library named after the project. It is
	// empty if there is none.
	Own string
	// Project is the folder of the project whose lock files select versions of the
	// shelf's libraries. If empty, all versions are equal.
	Project string
	// Beside is a shelf with libraries that are not served because Dir is. It is
	// empty if there is none.
	Beside string
	// ShelfLater returns a shelf, or "". A server without an index begins to serve the
	// shelf once it has libraries. It may be nil.
	ShelfLater func() (string, error)
	// If Record is set, each question for which a search found little is stored in the
	// state folder, for a report on what the docs lack. See package gaps.
	Record bool
}

// Upstreams configures the MCP servers whose tools deskhand also serves.
type Upstreams struct {
	All        []gateway.Upstream
	Disclosure gateway.Disclosure
	Prefix     string // prefix of the tool names
	Many       string // why agents of several people call; empty if only one person's agents do
	Addr, URL  string // address of the connect pages; may be empty
}

// Agents configures what other agents can do over A2A.
type Agents struct {
	Skill             string   // for messages that name no skill
	Project, Executor string   // for run-task; if Project is empty, run-task is off
	PushTo            []string // each HOST:PORT on this machine or its network
}

// Notices configures how people are notified of new questions.
type Notices struct {
	Hooks []notify.Hook
	Quiet notify.Quiet
	Base  string // base URL of links; empty: the pages' own address
	Ends  string // which ends of attempts to tell of; empty: EndsAll
	// Mail configures the mail server; nil: no mails. Owner is the address of the
	// installation's owner; empty: none.
	Mail  *mail.Options
	Owner string
	// FollowUp reports whether a second message says how a question ended.
	FollowUp bool
}

// SignIn configures signing in with an identity provider.
type SignIn struct {
	signin.Options
	Address string // where browsers reach the server
	Adopt   bool   // people who were added before may sign in under their names
}

// Watch names a docs folder that is rebuilt into the index while the server runs.
type Watch struct {
	Dir string // if empty, no folder is watched
	// Libraries also rebuilds the libraries on the served shelf whose source is a local
	// folder.
	Libraries bool
	Embedder  func() (embed.Embedder, error)
}
