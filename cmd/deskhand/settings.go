package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/a2a"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/surface/slack"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/trust"
)

// setting is a value that a flag, the environment or the configuration file
// gives, in that order. Its key in the file is its name, with "_" for "-" if
// you like, and a dot for each group of keys that it is in; its variable is
// DESKHAND_ and the same in capitals, with "_" for the dots.
type setting struct {
	name, fallback, usage string
	list                  bool // several values
	tree                  bool // any shape: YAML in the file, JSON in a variable
	secret                bool // masked when shown; never a flag
	noFlag                bool
	path                  bool   // in the file it is relative to the file
	suffix                string // of the values that path is for; empty: all
	// trust says when it counts in the file of a project that nobody agreed to.
	trust trustRule
}

// shared are the settings that more than one command reads, or that describe
// an installation.
var shared = []setting{
	{name: "index", fallback: filepath.Join(".deskhand", "index"), usage: "folder of the index", path: true, trust: free}, // what reads; mayBuildInto guards what writes
	{name: "embed", fallback: embed.Default, usage: "what makes the vectors of an index: builtin, none, FILE.model, PROVIDER:MODEL or URL#MODEL", path: true, suffix: ".model", trust: whenStricter("it is `builtin`, `none` or a file", near)},
	{name: "embed-timeout", fallback: search.DefaultEmbedTimeout.String(), usage: "how long a question waits for its vector from a provider, as 800ms or 2s", trust: free},
	{name: "cache", usage: "folder of vectors that providers made (default: deskhand in the user's cache folder)", path: true, trust: needsTrust},
	{name: "vectors", fallback: "scan", usage: "what searches the vectors of an index: scan or chromem", trust: free},
	{name: "search.log", fallback: "off", usage: "record the questions that find little, for deskhand gaps: on or off", noFlag: true, trust: whenStricter("it is `off`", word("off"))},
	{name: "state", usage: "state folder (default: $XDG_STATE_HOME/deskhand)", path: true, trust: needsTrust},
	{name: "store", usage: "where questions and tasks are kept: a folder or postgres://... (default: the state folder)", path: true, secret: true, trust: needsTrust},
	{name: "elicitation.timeout", fallback: "5m", usage: "how long ask_user and ask wait that do not say, as 90s or 10m", noFlag: true, trust: whenStricter("it is longer", longer)}, // one that ends at once is asked of nobody
	{name: "elicitation.hold", fallback: holdAuto, usage: "how long a call of ask_user or await_answer is held at most, as 45s, or auto: by client", noFlag: true, trust: free},
	{name: "elicitation.secrets", fallback: secretsRefuse, usage: "what becomes of questions for passwords and keys: refuse or allow", noFlag: true, trust: whenStricter("it is `refuse`", word(secretsRefuse))},
	{name: "elicitation.schema", fallback: schemaInline, usage: "schema of ask_user: inline, or ref for the specification's own with a $ref", noFlag: true, trust: free},
	{name: "views", fallback: viewsOn, usage: "forms and results that clients show in the conversation: on or off", noFlag: true, trust: free},
	{name: "inbox", fallback: installation.InboxAuto, usage: "where the inbox is in the browser: auto, off or HOST:PORT", noFlag: true, trust: needsTrust}, // off asks nobody, an address opens a port
	{name: "tasks.executors", usage: "coding agents beside the shipped ones, by id", noFlag: true, tree: true, trust: needsTrust},
	{name: "tasks.max-running", fallback: "0", usage: "how many processes of attempts run at once (0: one for each CPU, 4 at least)", noFlag: true, trust: whenStricter("it is lower", fewerRunning)},
	{name: "tasks.time-limit", fallback: "6h", usage: "how long a run of an agent may take", noFlag: true, trust: whenStricter("it is shorter", shorter)},
	{name: "tasks.idle-limit", fallback: "30m", usage: "how long an agent may be silent", noFlag: true, trust: whenStricter("it is shorter", shorter)},
	{name: "tasks.diff-guard", fallback: "balanced", usage: "how many changes get_attempt_changes lists: safe, balanced, relaxed or off", noFlag: true, trust: whenStricter("it lists less", saferGuard)},
	{name: "tasks.branch-prefix", fallback: "deskhand", usage: "what stands before the names of branches", noFlag: true, trust: free},
	{name: "tasks.retain", usage: "how long tasks gc keeps worktrees that are not used, by status (default: done=7d,cancelled=7d,inreview=30d)", noFlag: true, list: true, trust: needsTrust}, // what is kept for a shorter time is deleted sooner
	{name: "tasks.env", usage: "further variables that agents and scripts get", noFlag: true, list: true, trust: needsTrust},
	{name: "tasks.sandbox", fallback: string(box.Auto), usage: "what agents run in: auto, bwrap, landlock, container or none", noFlag: true, trust: needsTrust},
	{name: "tasks.sandbox-network", usage: "what they reach from there: on, off, or hosts (default: on)", noFlag: true, list: true, trust: needsTrust},
	{name: "tasks.sandbox-read", usage: "further paths that they may read, as ~/.config/gh", noFlag: true, list: true, trust: needsTrust},
	{name: "tasks.sandbox-write", usage: "further paths that they may write", noFlag: true, list: true, trust: needsTrust},
	{name: "tasks.sandbox-image", usage: "image of the container", noFlag: true, trust: needsTrust},
	{name: "tasks.wrap", usage: "command that stands before every agent, as a sandbox of your own", noFlag: true, tree: true, trust: needsTrust},
	{name: "slack.channel", usage: "id of the Slack channel or person that questions go to (default: no Slack)", noFlag: true, trust: needsTrust},
	{name: "slack.people", usage: "who in Slack may answer, as U012ABCDEF=local", list: true, noFlag: true, trust: needsTrust},
	{name: "slack.api", fallback: slack.DefaultAPI, usage: "address of Slack's methods", noFlag: true, trust: needsTrust},
	{name: "notify", usage: "what tells of new questions: desktop, ntfy:URL, webhook:URL or command:PROGRAM", list: true, secret: true, noFlag: true, trust: needsTrust},
	{name: "quiet-hours", usage: "when only urgent questions are told of, as 22:00-07:00", noFlag: true, trust: needsTrust},
	{name: "public-url", usage: "address of the inbox as notifications have it, as https://desk.example.org", noFlag: true, trust: needsTrust},
	{name: "connect.address", usage: "HOST:PORT of the page to connect upstreams on, under stdio (default: any free port)", noFlag: true, trust: needsTrust},
	{name: "connect.url", usage: "address at which browsers reach that page, behind a proxy or on a server over HTTP", noFlag: true, trust: needsTrust},
	{name: "gateway.disclosure", fallback: string(gateway.DiscloseAuto), usage: "tools of upstreams that a model sees: all, search (find_tools and call_tool), or auto: search if there are over 40", noFlag: true, trust: free},
	{name: "gateway.people", fallback: peopleAuto, usage: "whose agents call tools of upstreams: one (person), many (no tool is called with a person's own credential), or auto: many if other machines reach the server", noFlag: true, trust: whenStricter("it is `many`", word("many"))},
	{name: "otlp.endpoint", usage: "collector of OpenTelemetry to send spans to, as http://127.0.0.1:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT)", noFlag: true, trust: needsTrust},
	{name: "a2a.enabled", fallback: agentsOff, usage: "let other agents ask over A2A, beside MCP over HTTP: true or false", noFlag: true, trust: whenStricter("it is `false`", word(agentsOff))},
	{name: "a2a.default-skill", fallback: a2a.AskSkill, usage: "what a message is for that does not say: ask-a-person or run-task", noFlag: true, trust: needsTrust},
	{name: "a2a.project", usage: "project that run-task works in", noFlag: true, trust: needsTrust},
	{name: "a2a.push-to", usage: "HOST:PORT on this machine or its network that push notifications may go to", list: true, noFlag: true, trust: needsTrust},
	{name: "a2a.executor", usage: "coding agent of run-task", noFlag: true, trust: needsTrust},
	{name: "log-level", fallback: "info", usage: "debug, info, warn or error", trust: free},
	{name: "log-format", fallback: "text", usage: "text or json", trust: free},
	{name: "token", usage: "bearer token of agents at the HTTP server", secret: true, trust: needsTrust},
	{name: "person-key", usage: "secret of the person, to sign in and to answer with", secret: true, trust: needsTrust},
	{name: "session.host", usage: "name of this machine that browsers sign in at (default: deskhand-ID.localhost)", noFlag: true, trust: needsTrust},
	{name: "session.time", fallback: "30d", usage: "how long a browser stays signed in, as 12h or 30d", noFlag: true, trust: needsTrust},
	{name: "tools", fallback: "docs,ask", usage: "groups of tools to serve, with commas between: docs, ask, work, land", trust: whenStricter("it names fewer groups", fewerGroups)},
	{name: "tool-prefix", usage: "put before every tool name, as in acme_search_docs", trust: free},
	{name: "name", usage: "name the server gives itself (default: deskhand, or PREFIX-docs-server)", trust: free},
	{name: "max-answer-bytes", fallback: "65536", usage: "bytes of text that an answer may have, 4096 or more", trust: whenStricter("it is lower", lower)},
	{name: "allow-host", usage: "further Host name that HTTP requests may carry (repeat)", list: true, trust: needsTrust},
	{name: "allow-origin", usage: "further Origin that HTTP requests may come from (repeat)", list: true, trust: needsTrust},
}

// settings are the effective values of one run.
type settings struct {
	values  map[string]value // by name; every setting has one
	flag    *pflag.FlagSet
	file    string       // path of the nearest configuration file; empty: none
	project *projectFile // nil: file is none of a project
	ups     configFile   // the one whose upstreams count
	records trust.Records
	// inherited is the origin that another process of deskhand has handed over,
	// with its settings: see [tasks.Inherit]. Empty: nothing was handed over.
	inherited string
}

// value is what a setting has: one text, or any number for a list.
type value struct {
	texts  []string
	origin string // for people, such as "flag --index"
}

// byDefault is the origin of a value that nobody gave.
const byDefault = "default"

// flags declares what every command takes.
func (s *settings) flags(f *pflag.FlagSet) {
	f.BoolP("help", "h", false, "say how a command is used")
	f.String("config", "", "configuration file (default: the nearest deskhand.yaml in this or a parent folder, and your own)")
	for _, name := range []string{"state", "log-level", "log-format"} {
		declare(f, name)
	}
}

// declare adds the flag of a shared setting.
func declare(f *pflag.FlagSet, name string) {
	one, _ := settingOf(name)
	if one.list {
		f.StringArray(one.name, nil, one.usage)
		return
	}
	f.String(one.name, one.fallback, one.usage)
}

// settingOf finds a setting by its name or its key in the file.
func settingOf(name string) (setting, bool) {
	i := slices.IndexFunc(shared, func(s setting) bool { return s.name == name || key(s.name) == name })
	if i < 0 {
		return setting{}, false
	}
	return shared[i], true
}

func key(name string) string { return strings.ReplaceAll(name, "-", "_") }

func variable(name string) string {
	return "DESKHAND_" + strings.ToUpper(strings.ReplaceAll(key(name), ".", "_"))
}

// env is the value of a variable; a blank one counts as unset.
func env(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// load finds the value of each setting. tell is called with what a person
// should know of the configuration files.
func (s *settings) load(cmd *cobra.Command, tell func(string)) error {
	*s = settings{flag: cmd.Flags(), values: map[string]value{}, inherited: s.inherited}
	paths, err := findConfig(s.flag)
	if err != nil {
		return err
	}
	if s.inherited != "" && env("DESKHAND_CONFIG") == "" {
		paths.project = "" // there was none where the settings come from
	}
	var base configFile
	if s.file = cmp.Or(paths.chosen, paths.own); s.file != "" {
		if base, err = readConfig(s.file, tell); err != nil {
			return err
		}
	}
	for _, one := range shared {
		v := s.resolve(one, base)
		if one.fallback != "" && strings.TrimSpace(v.texts[0]) == "" {
			return misuse("--"+one.name+" is empty", "leave it out for the default, "+one.fallback)
		}
		s.values[one.name] = v
	}
	s.ups = base
	if state, err := s.stateFolder(); err == nil { // before a project says where it is
		s.records = trust.In(state)
	}
	if paths.project == "" {
		return nil
	}
	if s.project, err = s.readProject(paths.project, base, tell); err != nil {
		return err
	}
	s.file = paths.project
	s.apply(s.project)
	return nil
}

// resolve finds the value of a setting without the file of a project.
func (s *settings) resolve(one setting, file configFile) value {
	if f := s.flag.Lookup(one.name); f != nil && f.Changed {
		if list, ok := f.Value.(pflag.SliceValue); ok {
			return value{list.GetSlice(), "flag --" + one.name}
		}
		return value{[]string{f.Value.String()}, "flag --" + one.name}
	}
	if text := env(variable(one.name)); text != "" {
		return value{one.split(text), variable(one.name)}
	}
	return file.value(one)
}

// value is what a file says of a setting, or the default.
func (c configFile) value(one setting) value {
	if texts, ok := c.values[one.name]; ok {
		return value{texts, c.path}
	}
	if one.list {
		return value{nil, byDefault}
	}
	return value{[]string{one.fallback}, byDefault}
}

// split cuts a text into the values of a list, at commas and white space.
func (one setting) split(text string) []string {
	if !one.list {
		return []string{text}
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// get is the value of a setting that is no list.
func (s *settings) get(name string) string { return s.values[name].texts[0] }

func (s *settings) list(name string) []string { return s.values[name].texts }

// origin says where the value of a setting came from.
func (s *settings) origin(name string) string { return s.values[name].origin }

// given says that somebody set a value, if only to the default.
func (s *settings) given(name string) bool { return s.origin(name) != byDefault }

// atLeast is the value of a setting that is a number.
func (s *settings) atLeast(name string, least int) (int, error) {
	n, err := strconv.Atoi(s.get(name))
	if err != nil || n < least {
		return 0, s.wrong(name, fmt.Sprintf("not a number of %d or more", least), "")
	}
	return n, nil
}

// wrong is the error of a setting with a value that cannot be used. hint may be
// empty.
func (s *settings) wrong(name, why, hint string) error {
	return misuse(fmt.Sprintf("%s is %q, %s", name, s.get(name), why), cmp.Or(hint, "correct "+s.origin(name)))
}

// either reads a setting of two words: true for the first.
func (s *settings) either(name, yes, no string) (bool, error) {
	switch s.get(name) {
	case yes:
		return true, nil
	case no:
		return false, nil
	}
	return false, s.wrong(name, "not "+no+" or "+yes, "")
}

// stateFolder is where an installation keeps what is its own.
func (s *settings) stateFolder() (string, error) {
	if dir := s.get("state"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "deskhand"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", misuse("there is no folder for the state: "+err.Error(), "set HOME, or name a folder with --state or DESKHAND_STATE")
	}
	return filepath.Join(home, ".local", "state", "deskhand"), nil
}

// cacheFolder is where an installation keeps what it could get again; empty:
// the system names no such folder.
func (s *settings) cacheFolder() string {
	if dir := s.get("cache"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "deskhand")
}

// output is where a build writes: -o, else the index that the others read.
func (s *settings) output() string {
	if f := s.flag.Lookup("output"); f != nil && f.Changed {
		return f.Value.String()
	}
	return s.get("index")
}
