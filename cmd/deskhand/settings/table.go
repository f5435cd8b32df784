package settings

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/a2a"
	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/surface/slack"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

// A setting is a value that comes from a flag, an environment variable or the
// configuration file, in this order of precedence. Its key in the file is its name, with
// a dot after each group; "_" may be used instead of "-". Its variable is DESKHAND_
// followed by the name in capitals, with "_" instead of dots and dashes. Adding a setting
// takes only a row in [table], a function that reads the setting, and a row in the
// manual.
type setting struct {
	name, fallback, usage string
	called                string   // name of the value in help; if empty, TEXT
	choices               []string // allowed values, for shell completion
	list                  bool     // several values
	tree                  bool     // value of any type: YAML in the file, JSON in the variable
	secret                bool     // masked when shown; never a flag
	noFlag                bool
	path                  bool   // relative to the file if set in the file
	suffix                string // only values with this suffix are paths; if empty, all are
	// check returns an error for values that cannot be used. If it is nil, any value
	// is accepted.
	check check
	// trust says under what conditions the setting is used if it comes from an
	// untrusted project file.
	trust trustRule
}

// table lists the settings that are used by several commands or describe an
// installation.
var table = []setting{
	{name: "index", fallback: filepath.Join(".deskhand", "index"), path: true, called: "OUT",
		usage: "index folder", trust: free}, // reading is free; MayBuildInto guards writing
	{name: "embed", fallback: embed.Default, path: true, suffix: ".model", called: "SPEC", choices: []string{"builtin", "multilingual", "none"},
		usage: "embedding model of the index: builtin, multilingual, none, FILE.model, PROVIDER:MODEL or URL#MODEL",
		trust: whenStricter("it is `builtin`, `multilingual`, `none` or a file", near)},
	{name: "embed-timeout", fallback: search.DefaultEmbedTimeout.String(), called: "TIME", check: embedTimeout,
		usage: "how long a search waits for a provider to embed its question, for example 800ms or 2s", trust: free},
	{name: "cache", path: true, called: "DIR", trust: needsTrust,
		usage: "folder for cached vectors from providers (default: deskhand in the user's cache folder)"},
	{name: "vectors", fallback: "scan", called: "KIND", choices: []string{"scan", "chromem"},
		usage: "method for searching an index's vectors: scan or chromem", trust: free,
		check: oneOf("not scan or chromem", "use scan or chromem", "scan", "chromem")},
	{name: "search.log", fallback: "off", noFlag: true, check: either("on", "off"),
		usage: "record questions with poor results for \"deskhand gaps\": on or off", trust: whenStricter("it is `off`", word("off"))},
	{name: "shelf", path: true, called: "DIR", trust: needsTrust,
		usage: "folder for libraries (default: .deskhand/shelf if it exists, otherwise deskhand/shelf in $XDG_DATA_HOME)"},
	{name: "libraries", noFlag: true, tree: true, trust: free, usage: "libraries that \"deskhand sync\" puts on the project's shelf; searched with the index, if there is one"},
	{name: "state", path: true, called: "DIR", usage: "state folder (default: $XDG_STATE_HOME/deskhand)", trust: needsTrust},
	{name: "store", path: true, secret: true, trust: needsTrust,
		usage: "store for questions and tasks: a folder or postgres://... (default: the state folder)"},

	{name: "person", noFlag: true, trust: needsTrust, usage: "your name among the people of this installation (default: its owner)"},
	{name: "people.oidc", noFlag: true, tree: true, trust: needsTrust, usage: "identity provider with which people sign in to the pages"},
	{name: "people.proxy-header", noFlag: true, trust: needsTrust, usage: "header in which a proxy names the person who is signed in"},
	{name: "people.proxy-from", list: true, noFlag: true, trust: needsTrust, usage: "addresses of that proxy, for example 10.0.0.7 or 10.1.0.0/16"},
	{name: "elicitation.timeout", fallback: "5m", noFlag: true, check: waitTime,
		usage: "how long ask_user and \"deskhand ask\" wait by default, for example 90s or 10m",
		trust: whenStricter("it is longer", longer)}, // a question that ends immediately never reaches a person
	{name: "elicitation.hold", fallback: holdAuto, noFlag: true, check: holdTime, trust: free,
		usage: "how long a call of ask_user or await_answer may wait, for example 45s, or auto (depends on the client)"},
	{name: "elicitation.secrets", fallback: secretsRefuse, noFlag: true, check: either(secretsAllow, secretsRefuse),
		usage: "whether to refuse or allow questions that ask for passwords or keys: refuse or allow", trust: whenStricter("it is `refuse`", word(secretsRefuse))},
	{name: "elicitation.schema", fallback: schemaInline, noFlag: true, check: either(schemaRef, schemaInline), trust: free,
		usage: "form of the ask_user schema: inline, or ref (with a $ref, as in the specification)"},
	{name: "views", fallback: viewsOn, noFlag: true, check: either(viewsOn, viewsOff), trust: free,
		usage: "show forms and results in the conversation, in clients that support it: on or off"},
	{name: "inbox", fallback: app.InboxAuto, noFlag: true, check: inboxAddress, trust: needsTrust, // off hides questions from people, and an address opens a port
		usage: "address of the inbox for browsers: auto, off or HOST:PORT"},

	{name: "tasks.executors", noFlag: true, tree: true, trust: needsTrust, usage: "additional coding agents, by ID"},
	{name: "tasks.max-running", fallback: "0", noFlag: true, check: number(0), trust: whenStricter("it is lower", fewerRunning),
		usage: "maximum number of attempt processes that run concurrently (0: one for each CPU, at least 4)"},
	{name: "tasks.max-running-of", noFlag: true, list: true, check: runningOfValid, trust: needsTrust,
		usage: "how many processes of a coding agent run concurrently, for example claude=2,codex=1 (default: tasks.max_running)"},
	{name: "tasks.time-limit", fallback: "6h", noFlag: true, check: long, trust: whenStricter("it is shorter", shorter),
		usage: "maximum duration of an agent's run"},
	{name: "tasks.idle-limit", fallback: "30m", noFlag: true, check: long, trust: whenStricter("it is shorter", shorter),
		usage: "how long an agent may produce no output before it is stopped"},
	{name: "tasks.diff-guard", fallback: "balanced", noFlag: true, trust: whenStricter("it lists less", saferGuard),
		usage: "limit on the changes that get_attempt_changes lists: safe, balanced, relaxed or off",
		check: oneOf("not safe, balanced, relaxed or off", "", saferGuards...)},
	{name: "tasks.branch-prefix", fallback: "deskhand", noFlag: true, check: branchPrefix, trust: free,
		usage: "prefix for branch names"},
	{name: "tasks.retain", noFlag: true, list: true, trust: needsTrust, // with a shorter time, worktrees are deleted sooner
		usage: "how long \"deskhand tasks gc\" keeps unused worktrees, by task status (default: done=7d,cancelled=7d,inreview=30d)"},
	{name: "tasks.budgets", noFlag: true, list: true, check: budgetsValid, trust: needsTrust,
		usage: "what agents may consume before a person is asked, for example attempt=$5,project=$100,day=2M"},
	{name: "tasks.env", noFlag: true, list: true, trust: needsTrust, usage: "additional environment variables for agents and scripts"},
	{name: "tasks.sandbox", fallback: string(box.Auto), noFlag: true, check: sandboxMode, trust: needsTrust,
		usage: "sandbox for agents: auto, bwrap, landlock, container or none"},
	{name: "tasks.sandbox-network", noFlag: true, list: true, check: sandboxNetwork, trust: needsTrust,
		usage: "network access of the sandbox: on, off, or a list of hosts (default: on)"},
	{name: "tasks.sandbox-read", noFlag: true, list: true, check: fromRoot, trust: needsTrust,
		usage: "additional paths that agents may read, for example ~/.config/gh"},
	{name: "tasks.sandbox-write", noFlag: true, list: true, check: fromRoot, trust: needsTrust,
		usage: "additional paths that agents may write"},
	{name: "tasks.sandbox-image", noFlag: true, trust: needsTrust, usage: "container image for the sandbox"},
	{name: "tasks.wrap", noFlag: true, tree: true, trust: needsTrust,
		usage: "command to prefix every agent with, for example your own sandbox"},

	{name: "prices", noFlag: true, tree: true, check: pricesValid, trust: needsTrust,
		usage: "what a million tokens of a model cost in US dollars, as IN/OUT or IN/OUT/CACHE-READ/CACHE-WRITE"},

	{name: "slack.channel", noFlag: true, trust: needsTrust,
		usage: "ID of the Slack channel or person to send questions to (default: no Slack)"},
	{name: "slack.people", list: true, noFlag: true, trust: needsTrust, usage: "who may answer in Slack, for example U012ABCDEF=local"},
	{name: "slack.api", fallback: slack.DefaultAPI, noFlag: true, trust: needsTrust, usage: "base address of Slack's API"},
	{name: "notify", list: true, secret: true, noFlag: true, trust: needsTrust,
		usage: "how to notify you of new questions: desktop, ntfy:URL, webhook:URL, teams:URL, discord:URL, mail:ADDRESS or command:PROGRAM"},
	{name: "notify-answered", fallback: "off", noFlag: true, trust: needsTrust, check: either("on", "off"),
		usage: "send a second message by mail and in Teams that says how a question ended: on or off"},
	{name: "mail.server", noFlag: true, trust: needsTrust,
		usage: "mail server for questions: smtp://HOST (STARTTLS), smtps://HOST (TLS) or smtp-plain://HOST (no TLS, no sign-in)"},
	{name: "mail.from", noFlag: true, trust: needsTrust, usage: "address that mails come from, for example deskhand@example.org"},
	{name: "mail.user", noFlag: true, trust: needsTrust, usage: "user name at the mail server; the password is in DESKHAND_MAIL_PASSWORD"},
	{name: "notify-ends", fallback: app.EndsAll, noFlag: true, trust: needsTrust, check: oneOf("not all, failed or off", "", app.EndsAll, app.EndsFailed, app.EndsOff),
		usage: "which ends of attempts to notify of, by the same ways and in Slack: all, failed or off"},
	{name: "quiet-hours", noFlag: true, trust: needsTrust, usage: "time of day when only urgent questions cause notifications, for example 22:00-07:00"},
	{name: "routing", list: true, noFlag: true, check: routingValid, trust: needsTrust,
		usage: "steps for questions that nobody answers, for example 30m rota:ops, 2h role:lead; PROJECT=... for one project"},
	{name: "base-url", called: "URL", check: baseAddress, trust: needsTrust,
		usage: "address of serve --http behind a proxy, for example https://example.org/deskhand"},
	{name: "public-url", noFlag: true, check: publicAddress, trust: needsTrust,
		usage: "address of the inbox in notifications, for example https://desk.example.org"},

	{name: "audit.syslog", noFlag: true, check: syslogAddress, trust: needsTrust,
		usage: "syslog server that gets the audit log, for example unixgram:///dev/log, udp://HOST:514 or tcp://HOST:601"},

	{name: "connect.address", noFlag: true, check: connectAddress, trust: needsTrust,
		usage: "HOST:PORT of the page for connecting upstreams, if the server uses stdio (default: any free port)"},
	{name: "connect.url", noFlag: true, check: connectURL, trust: needsTrust,
		usage: "address at which browsers reach that page behind a proxy, or on an HTTP server"},
	{name: "gateway.disclosure", fallback: string(gateway.DiscloseAuto), noFlag: true, trust: free,
		usage: "upstream tools that a model sees: all, search (find_tools and call_tool), or auto (search if there are over 40 tools)",
		check: oneOf("not all, search or auto", "use auto to show up to 40 tools and search more",
			string(gateway.DiscloseAll), string(gateway.DiscloseSearch), string(gateway.DiscloseAuto))},
	{name: "gateway.people", fallback: peopleAuto, noFlag: true, check: oneOf("not auto, one or many", "use one if no one else has the server's token", peopleAuto, peopleOne, peopleMany),
		trust: whenStricter("it is `many`", word(peopleMany)),
		usage: "people whose agents call upstream tools: one, many (a person's own credential is then never used), " +
			"or auto (many if other machines can reach the server)"},
	{name: "otlp.endpoint", noFlag: true, trust: needsTrust,
		usage: "OpenTelemetry collector to send spans to, for example http://127.0.0.1:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT)"},

	{name: "a2a.enabled", fallback: agentsOff, noFlag: true, trust: whenStricter("it is `false`", word(agentsOff)),
		usage: "let other agents ask over A2A, in addition to MCP over HTTP: true or false",
		check: oneOf("not true or false", "", agentsOn, agentsOff)},
	{name: "a2a.default-skill", fallback: a2a.AskSkill, noFlag: true, check: either(a2a.RunSkill, a2a.AskSkill), trust: needsTrust,
		usage: "default skill for a message: ask-a-person or run-task"},
	{name: "a2a.project", noFlag: true, trust: needsTrust, usage: "project for the skill run-task"},
	{name: "a2a.push-to", list: true, noFlag: true, trust: needsTrust,
		usage: "HOST:PORT on this machine or its network to which push notifications may be sent"},
	{name: "a2a.executor", noFlag: true, trust: needsTrust, usage: "coding agent for the skill run-task"},

	{name: "log-level", fallback: "info", called: "LEVEL", choices: []string{"debug", "info", "warn", "error"},
		usage: "debug, info, warn or error", trust: free},
	{name: "log-format", fallback: "text", called: "FORMAT", choices: []string{"text", "json"}, usage: "text or json", trust: free},
	{name: "token", secret: true, usage: "bearer token that agents send to the HTTP server", trust: needsTrust},
	{name: "person-key", secret: true, usage: "secret with which a person signs in and answers", trust: needsTrust},
	{name: "session.host", noFlag: true, check: sessionHost, trust: needsTrust,
		usage: "host name that browsers use to sign in (default: deskhand-ID.localhost)"},
	{name: "session.time", fallback: "30d", noFlag: true, check: sessionTime, trust: needsTrust,
		usage: "how long a browser stays signed in, for example 12h or 30d"},

	{name: "tools", fallback: "docs,ask", called: "LIST", choices: []string{"docs", "ask", "work", "docs,ask", "docs,ask,work", "docs,ask,work,land"},
		usage: "groups of tools to serve, separated by commas: docs, ask, work, land", trust: whenStricter("it names fewer groups", fewerGroups)},
	{name: "tool-prefix", called: "P", check: toolPrefix, usage: "prefix for all tool names; for example, acme_ results in acme_search_docs", trust: free},
	{name: "name", called: "NAME", usage: "server name that clients see (default: deskhand, or PREFIX-docs-server)", trust: free},
	{name: "max-answer-bytes", fallback: "65536", called: "N", check: number(docs.MinAnswerBytes),
		usage: "maximum size of an answer in bytes (at least 4096)", trust: whenStricter("it is lower", lower)},
	{name: "allow-host", list: true, called: "NAME", trust: needsTrust,
		usage: "additional Host name to accept in HTTP requests (repeatable)"},
	{name: "allow-origin", list: true, called: "URL", trust: needsTrust,
		usage: "additional Origin to accept in HTTP requests (repeatable)"},
}

// settingOf finds a setting by its name or by its key in the file.
func settingOf(name string) (setting, bool) {
	i := slices.IndexFunc(table, func(s setting) bool { return s.name == name || key(s.name) == name })
	if i < 0 {
		return setting{}, false
	}
	return table[i], true
}

// Key returns a setting's key in the configuration file.
func Key(name string) string { return key(name) }

func key(name string) string { return strings.ReplaceAll(name, "-", "_") }

func variable(name string) string {
	return "DESKHAND_" + strings.ToUpper(strings.ReplaceAll(key(name), ".", "_"))
}
