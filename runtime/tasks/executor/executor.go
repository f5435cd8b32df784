// Package executor starts coding agents: one process for each run, in a process
// group of its own, whose words become entries of a log.
//
// Which agents there are is configuration, with shipped defaults
// (defaults.json); what this package knows are the kinds of them. A kind turns
// what a process prints into entries, and what a person answers into what the
// process reads:
//
//	acp     the Agent Client Protocol over stdin and stdout
//	stream  a command that prints events as JSON lines and ends
//	shell   a command that prints text and ends
//	fake    an agent that does what its prompt says, for tests
//	a2a     an agent that is reached over the network; it has no process here
package executor

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// kind is a way to speak with agents.
type kind struct {
	name string
	// check says what is wrong with how an agent is configured. Empty: nothing.
	check func(Config) string
	// can says what an agent can do: MCP, FollowUp and Approvals of it.
	can func(Config) Info
	// start starts a run of an agent.
	start func(context.Context, *launch) (*Run, error)
	// abandon is [Table.Abandon]. Nil: what is left are processes alone.
	abandon func(ctx context.Context, l *launch, stopped bool) error
}

// kinds are all, each in the file of its name.
var kinds = []kind{acpKind, streamKind, shellKind, fakeKind, a2aKind}

func kindNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return strings.Join(names, ", ")
}

// kind is the one of an agent; the zero value: there is none of that name.
func (c Config) kind() kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == c.Kind })
	if i < 0 {
		return kind{}
	}
	return kinds[i]
}

// Config is how an agent is started.
type Config struct {
	// Kind is the name of one of the kinds: see the package.
	Kind string `json:"kind"`
	// Command is the program and its arguments. In them {{prompt}} stands for
	// the prompt, {{session}} for the agent's session, {{dir}} for the folder.
	// They are passed as they are, never through a shell. Without {{prompt}} a
	// stream or shell agent reads it from stdin.
	Command []string `json:"command"`
	// Resume is Command for a run that goes on with a session. Nil: Command.
	// Without {{session}} in it, every run is a new conversation, which is told
	// what was said before.
	Resume []string `json:"resume,omitempty"`
	// Lost is part of what a stream agent prints to stderr when it does not have
	// the session to go on with. Empty: not known.
	Lost string `json:"lost,omitempty"`
	// Env is added to the environment; it has the same places as Command.
	Env map[string]string `json:"env,omitempty"`
	// Pass names variables of deskhand's own environment that the agent needs,
	// such as those with its keys. A * at the end stands for any rest.
	Pass []string `json:"pass,omitempty"`
	// URL is where an agent of the kind a2a is: its address, or that of its card.
	URL string `json:"url,omitempty"`
	// Headers go with every call to it. ${NAME} in a value stands for a variable
	// of deskhand's own environment, so that no secret has to be written here.
	Headers map[string]string `json:"headers,omitempty"`
	// Events says how a stream is to be read: claude, codex, gemini, opencode
	// or qwen.
	Events string `json:"events,omitempty"`
	// Mode is the session mode to set over acp, or the skill to ask for over a2a;
	// empty: the agent's own.
	Mode string `json:"mode,omitempty"`
	// Auth is the method to sign in with over acp; empty: none.
	Auth string `json:"auth,omitempty"`
	// Variants are other ways to start it, by name.
	Variants map[string]Variant `json:"variants,omitempty"`
	// Default is the variant to take if none is named; empty: none.
	Default string `json:"default,omitempty"`
	// Install says how to get the program.
	Install string `json:"install,omitempty"`
	// Home is what it needs of the person's home in a sandbox, and Sandbox and
	// Network are its own for tasks.sandbox and tasks.sandbox_network.
	Home    box.Needs `json:"home,omitzero"`
	Sandbox box.Mode  `json:"sandbox,omitempty"`
	Network []string  `json:"sandbox_network,omitempty"`
	// Disabled takes an agent off the list.
	Disabled bool `json:"disabled,omitempty"`
}

// Variant changes a Config.
type Variant struct {
	Args []string          `json:"args,omitempty"` // behind Command
	Env  map[string]string `json:"env,omitempty"`
	Mode string            `json:"mode,omitempty"`
}

// Info is what can be said of an agent without starting it.
type Info struct {
	// ID is stable; it is what starts the agent.
	ID       string
	Kind     string
	Variants []string // sorted
	Default  string
	// MCP says that the agent can be given deskhand's tools, FollowUp that it
	// goes on with a session of its own, where others are told what was said,
	// and Approvals that it asks before it acts.
	MCP, FollowUp, Approvals bool
	// Missing says why it cannot be started here. Empty: it can.
	Missing string
}

//go:embed defaults.json
var defaults []byte

// Defaults are the agents that deskhand knows without being told.
func Defaults() map[string]Config {
	var d map[string]Config
	if err := json.Unmarshal(defaults, &d); err != nil {
		panic(err)
	}
	return d
}

// Table is the agents that are configured. It may be used at once.
type Table struct{ configs map[string]Config }

// New puts configured agents over the shipped ones. One with the id of a shipped
// one amends it if it names no kind, and replaces it if it does. Fault:
// invalid_argument for one that could never be started.
func New(configured map[string]Config) (*Table, error) {
	t := &Table{configs: Defaults()}
	for id, c := range configured {
		if shipped, ok := t.configs[Canonical(id)]; ok && c.Kind == "" {
			c = shipped.amended(c)
		}
		if err := check(id, c); err != nil {
			return nil, err
		}
		t.configs[Canonical(id)] = c
	}
	maps.DeleteFunc(t.configs, func(_ string, c Config) bool { return c.Disabled })
	return t, nil
}

// amended returns c with what is set in by; of maps, entry by entry.
func (c Config) amended(by Config) Config {
	c.Command, c.Resume, c.Pass = or(by.Command, c.Command), or(by.Resume, c.Resume), slices.Concat(c.Pass, by.Pass)
	c.Lost, c.URL, c.Events, c.Mode = cmp.Or(by.Lost, c.Lost), cmp.Or(by.URL, c.URL), cmp.Or(by.Events, c.Events), cmp.Or(by.Mode, c.Mode)
	c.Auth, c.Default, c.Install = cmp.Or(by.Auth, c.Auth), cmp.Or(by.Default, c.Default), cmp.Or(by.Install, c.Install)
	c.Env, c.Headers, c.Variants = merged(c.Env, by.Env), merged(c.Headers, by.Headers), merged(c.Variants, by.Variants)
	c.Home, c.Sandbox, c.Network = c.Home.And(by.Home), cmp.Or(by.Sandbox, c.Sandbox), or(by.Network, c.Network)
	c.Disabled = by.Disabled
	return c
}

func or(one, other []string) []string {
	if one != nil {
		return one
	}
	return other
}

func merged[V any](one, over map[string]V) map[string]V {
	all := maps.Clone(one)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, over)
	return all
}

// Configs returns the configuration of each agent, by id.
func (t *Table) Configs() map[string]Config { return maps.Clone(t.configs) }

// Canonical is the spelling of an id: lower case, with dashes.
func Canonical(id string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(id)), "_", "-")
}

func check(id string, c Config) error {
	bad := func(format string, args ...any) error {
		return fault.New(InvalidArgument, fmt.Sprintf("executor %s: ", id)+fmt.Sprintf(format, args...), "change tasks.executors."+id+" in the configuration")
	}
	if id == "" || strings.ContainsFunc(Canonical(id), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' }) {
		return bad("an id has letters, digits, dashes and dots")
	}
	if c.Disabled {
		return nil
	}
	k := c.kind()
	if k.name == "" {
		return bad("kind %q is none of %s", c.Kind, kindNames())
	}
	if wrong := k.check(c); wrong != "" {
		return bad("%s", wrong)
	}
	if c.Sandbox != "" && !slices.Contains(box.Modes, c.Sandbox) {
		return bad("sandbox %q is none of %s", c.Sandbox, box.ModeNames())
	}
	if err := box.CheckNetwork(c.Network); err != nil {
		return bad("sandbox_network: %v", err)
	}
	if _, ok := c.Variants[c.Default]; c.Default != "" && !ok {
		return bad("its default %q is none of its variants", c.Default)
	}
	return nil
}

// List is all agents, by id.
func (t *Table) List() []Info {
	var list []Info
	for _, id := range slices.Sorted(maps.Keys(t.configs)) {
		list = append(list, t.info(id))
	}
	return list
}

func (t *Table) info(id string) Info {
	c := t.configs[id]
	i := c.kind().can(c)
	i.ID, i.Kind, i.Variants, i.Default, i.Missing = id, c.Kind, slices.Sorted(maps.Keys(c.Variants)), c.Default, c.missing(os.Getenv("PATH"))
	return i
}

// Boxing is what an agent needs in a sandbox, and which one it is to have: empty
// if its configuration does not say.
func (t *Table) Boxing(id string) (needs box.Needs, mode box.Mode, network []string) {
	c := t.configs[Canonical(id)]
	return c.Home, c.Sandbox, c.Network
}

// Scripted says whether an agent only does what its prompt says line by line.
func (t *Table) Scripted(id string) bool { return t.configs[Canonical(id)].Kind == "fake" }

// Here says whether an agent is a program on this machine.
func (t *Table) Here(id string) bool { return t.configs[Canonical(id)].kind().abandon == nil }

// Passed says which variables of the environment an agent gets beside the usual
// ones: see [Environment].
func (t *Table) Passed(id string) []string { return t.configs[Canonical(id)].Pass }

// missing says why an agent cannot be started here.
func (c Config) missing(path string) string {
	if _, missing := c.credentials(); missing != "" {
		return missing
	}
	if len(c.Command) == 0 {
		return ""
	}
	if _, err := look(c.Command[0], path); err != nil {
		why := fmt.Sprintf("%s is not on the path", c.Command[0])
		if filepath.Base(c.Command[0]) != c.Command[0] {
			why = fmt.Sprintf("%s cannot be started: %v", c.Command[0], err)
		}
		if c.Install != "" {
			why += "; " + c.Install
		}
		return why
	}
	return ""
}

// look finds a program on path, which need not be that of this process.
func look(name, path string) (string, error) {
	if filepath.Base(name) != name || path == os.Getenv("PATH") {
		return exec.LookPath(name)
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}
