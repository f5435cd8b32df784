// Package executor starts coding agents. Each run is one process in its own
// process group. The process's output becomes log entries.
//
// The agents themselves are defined by configuration, with defaults in
// defaults.json. This package implements the kinds of agents. A kind converts a
// process's output to log entries, and a person's answers to input for the
// process:
//
//	acp     the Agent Client Protocol over stdin and stdout
//	stream  a command that prints events as JSON lines and exits
//	shell   a command that prints text and exits
//	fake    an agent that executes its prompt, for tests
//	a2a     an agent that is reached over the network and has no process here
//
// The kinds container and kubernetes run an agent of one of the other kinds in a container.
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
	"reflect"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// kind is a way to communicate with agents.
type kind struct {
	name string
	// check describes what is wrong with an agent's configuration, or returns "".
	check func(Config) string
	// can returns an agent's abilities. It sets only MCP, FollowUp and
	// Approvals.
	can func(Config) Info
	// start starts a run of an agent.
	start func(context.Context, *launch) (*Run, error)
	// abandon implements [Table.Abandon]. It is nil if a killed run leaves only
	// processes behind.
	abandon func(ctx context.Context, l *launch, stopped bool) error
}

// kinds lists all kinds. Each is in the file with its name.
var kinds = []kind{acpKind, streamKind, shellKind, fakeKind, a2aKind, containerKind, kubernetesKind}

// Kinds returns the names of all kinds.
func Kinds() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

func kindNames() string { return strings.Join(Kinds(), ", ") }

// kind returns an agent's kind, or the zero value if there is no such kind. For an
// agent in a container, it is the kind of the agent.
func (c Config) kind() kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == cmp.Or(c.runs, c.Kind) })
	if i < 0 {
		return kind{}
	}
	return kinds[i]
}

// Config specifies how to start an agent.
type Config struct {
	// Kind is one of the kinds in the package comment.
	Kind string `json:"kind"`
	// Command is the program and its arguments. deskhand replaces {{prompt}}
	// with the prompt, {{session}} with the agent's session ID, and {{dir}}
	// with the folder. No shell is involved. If there is no {{prompt}}, a
	// stream or shell agent reads the prompt from stdin.
	Command []string `json:"command"`
	// Resume replaces Command in a run that resumes a session. If it is nil,
	// the run uses Command. If the command contains no {{session}}, every run
	// is a new conversation, which begins with a summary of the previous one.
	Resume []string `json:"resume,omitempty"`
	// Lost is text that a stream agent prints to stderr if it does not have the
	// session to resume. It is empty if the text is unknown.
	Lost string `json:"lost,omitempty"`
	// Env is added to the environment. Its values may contain the same
	// placeholders as Command.
	Env map[string]string `json:"env,omitempty"`
	// Pass names variables in deskhand's own environment that the agent needs,
	// for example those with its keys. A name that ends with * matches every
	// variable with that prefix.
	Pass []string `json:"pass,omitempty"`
	// URL is the address of an a2a agent, or of its card.
	URL string `json:"url,omitempty"`
	// Headers are sent with every call to URL. deskhand replaces ${NAME} in a
	// value with the variable NAME from its own environment, so that the
	// configuration need not contain secrets.
	Headers map[string]string `json:"headers,omitempty"`
	// Events is the format of a stream: claude, codex, gemini, opencode or
	// qwen.
	Events string `json:"events,omitempty"`
	// Mode is the session mode to set over acp, or the skill to request over a2a. Empty
	// means the agent's default.
	Mode string `json:"mode,omitempty"`
	// Auth is the sign-in method over acp. Empty means no sign-in.
	Auth string `json:"auth,omitempty"`
	// Variants holds other ways to start the agent, by name.
	Variants map[string]Variant `json:"variants,omitempty"`
	// Default is the variant to use if none is named. Empty means no variant.
	Default string `json:"default,omitempty"`
	// Install explains how to install the program.
	Install string `json:"install,omitempty"`
	// Home lists the paths in the user's home that the agent needs in a
	// sandbox. Sandbox and Network override tasks.sandbox and
	// tasks.sandbox_network.
	Home    box.Needs `json:"home,omitzero"`
	Sandbox box.Mode  `json:"sandbox,omitempty"`
	Network []string  `json:"sandbox_network,omitempty"`
	// Agent is the ID of the agent that kind container or kubernetes runs, and Container is
	// its container. The other fields change that agent's.
	Agent     string              `json:"agent,omitempty"`
	Container box.ContainerConfig `json:"container,omitzero"`
	// Disabled removes the agent from the list.
	Disabled bool `json:"disabled,omitempty"`

	runs string // kind of the agent in a container; empty for other kinds
}

// Variant changes a Config.
type Variant struct {
	Args []string          `json:"args,omitempty"` // appended to Command
	Env  map[string]string `json:"env,omitempty"`
	Mode string            `json:"mode,omitempty"`
}

// Info describes an agent without starting it.
type Info struct {
	// ID is stable; pass it to [Table.Start].
	ID       string
	Kind     string
	Variants []string // sorted
	Default  string
	// MCP reports whether the agent can use deskhand's tools. FollowUp reports
	// whether it can resume its own session; an agent that cannot gets a
	// summary instead. Approvals reports whether it asks before it acts.
	MCP, FollowUp, Approvals bool
	// Missing is the reason why the agent cannot be started here. It is empty
	// if the agent can be started.
	Missing string
}

//go:embed defaults.json
var defaults []byte

// Defaults returns the built-in agents by ID.
func Defaults() map[string]Config {
	var d map[string]Config
	if err := json.Unmarshal(defaults, &d); err != nil {
		panic(err)
	}
	return d
}

// Table holds the configured agents. It may be used concurrently.
type Table struct{ configs map[string]Config }

// New returns the built-in agents and the configured ones. If a configured
// agent has a built-in agent's ID and no Kind, it changes the built-in agent.
// If it has a Kind, it replaces the built-in agent. Fault: invalid_argument for
// an agent that could never be started.
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
	if err := t.contain(); err != nil {
		return nil, err
	}
	maps.DeleteFunc(t.configs, func(_ string, c Config) bool { return c.Disabled })
	return t, nil
}

// amended returns c with each field that is set in the other Config replaced by
// that value. It merges maps entry by entry.
func (c Config) amended(by Config) Config {
	c.Command, c.Resume, c.Pass = or(by.Command, c.Command), or(by.Resume, c.Resume), slices.Concat(c.Pass, by.Pass)
	c.Lost, c.URL, c.Events, c.Mode = cmp.Or(by.Lost, c.Lost), cmp.Or(by.URL, c.URL), cmp.Or(by.Events, c.Events), cmp.Or(by.Mode, c.Mode)
	c.Auth, c.Default, c.Install = cmp.Or(by.Auth, c.Auth), cmp.Or(by.Default, c.Default), cmp.Or(by.Install, c.Install)
	c.Env, c.Headers, c.Variants = merged(c.Env, by.Env), merged(c.Headers, by.Headers), merged(c.Variants, by.Variants)
	c.Home, c.Sandbox, c.Network = c.Home.And(by.Home), cmp.Or(by.Sandbox, c.Sandbox), or(by.Network, c.Network)
	c.Agent, c.Container = cmp.Or(by.Agent, c.Agent), c.Container.Over(by.Container)
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

// Configs returns the configurations of all agents, by ID.
func (t *Table) Configs() map[string]Config { return maps.Clone(t.configs) }

// Canonical returns the canonical spelling of an ID: lower case, with dashes.
func Canonical(id string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(id)), "_", "-")
}

func check(id string, c Config) error {
	bad := func(format string, args ...any) error { return misconfigured(id, format, args...) }
	if id == "" || strings.ContainsFunc(Canonical(id), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' }) {
		return bad("an ID may only contain letters, digits, dashes and dots")
	}
	if c.Disabled {
		return nil
	}
	k := c.kind()
	if in := c.inImage(); in != nil {
		k = *in
	} else if c.Agent != "" || !reflect.ValueOf(c.Container).IsZero() {
		return bad("agent and container need the kind container or kubernetes")
	}
	if k.name == "" {
		return bad("kind %q is not one of %s", c.Kind, kindNames())
	}
	if wrong := k.check(c); wrong != "" {
		return bad("%s", wrong)
	}
	if c.Sandbox != "" && !slices.Contains(box.Modes, c.Sandbox) {
		return bad("sandbox %q is not one of %s", c.Sandbox, box.ModeNames())
	}
	if err := box.CheckNetwork(c.Network); err != nil {
		return bad("sandbox_network: %v", err)
	}
	if c.inImage() != nil {
		return nil // its variants may be the agent's: see contain
	}
	return checkDefault(id, c)
}

func checkDefault(id string, c Config) error {
	if _, ok := c.Variants[c.Default]; c.Default != "" && !ok {
		return misconfigured(id, "its default %q is not one of its variants", c.Default)
	}
	return nil
}

func misconfigured(id, format string, args ...any) error {
	return fault.New(InvalidArgument, fmt.Sprintf("executor %s: ", id)+fmt.Sprintf(format, args...), "change tasks.executors."+id+" in the configuration")
}

// List returns all agents, sorted by ID.
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

// Boxing returns what an agent needs in a sandbox, and the sandbox and network
// in its configuration. They are empty if the configuration does not set them.
func (t *Table) Boxing(id string) (needs box.Needs, mode box.Mode, network []string) {
	c := t.configs[Canonical(id)]
	return c.Home, c.Sandbox, c.Network
}

// Scripted reports whether an agent only executes its prompt line by line.
func (t *Table) Scripted(id string) bool {
	return t.configs[Canonical(id)].kind().name == fakeKind.name
}

// Here reports whether an agent is a program on this machine.
func (t *Table) Here(id string) bool { return t.configs[Canonical(id)].kind().abandon == nil }

// Passed returns the names of the environment variables that an agent gets in
// addition to the usual ones: see [Environment].
func (t *Table) Passed(id string) []string { return t.configs[Canonical(id)].Pass }

// missing returns the reason why an agent cannot be started here, or "".
func (c Config) missing(path string) string {
	if _, missing := c.credentials(); missing != "" {
		return missing
	}
	if c.runs != "" { // its program is in the image
		return box.MissingEngine(c.Container.Engine)
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

// look finds a program on path. path may differ from this process's PATH.
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
