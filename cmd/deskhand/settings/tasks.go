package settings

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// TasksOptions returns the settings of attempts. If a setting is invalid, the error
// is a usage error that names the setting.
func (s *Settings) TasksOptions() (o tasks.Options, err error) {
	state, err := s.StateDir()
	if err != nil {
		return o, err
	}
	if o.Dir, err = filepath.Abs(filepath.Join(state, "tasks")); err != nil {
		return o, fmt.Errorf("find the state folder: %w", err)
	}
	if err = s.check("tasks.max-running", "tasks.time-limit", "tasks.idle-limit", "tasks.diff-guard", "tasks.branch-prefix"); err != nil {
		return o, err
	}
	o.MaxRunning, o.WallClock, o.Silence = s.number("tasks.max-running"), s.time("tasks.time-limit"), s.time("tasks.idle-limit")
	if o.Retain, err = s.retained(); err != nil {
		return o, err
	}
	guard := guards[s.get("tasks.diff-guard")]
	o.Guard = &guard
	o.BranchPrefix, o.Env = s.get("tasks.branch-prefix"), s.list("tasks.env")
	if o.Agents, err = s.agents(); err != nil {
		return o, err
	}
	if o.Prices, err = s.Prices(); err != nil {
		return o, err
	}
	if o.MaxRunningOf, err = s.runningOf(); err != nil {
		return o, err
	}
	if o.Budgets, err = tasks.ParseBudgets(s.list("tasks.budgets")); err != nil {
		return o, err
	}
	if err = s.sandboxOptions(&o); err != nil {
		return o, err
	}
	self, err := os.Executable()
	if err != nil {
		return o, fmt.Errorf("find the running program: %w", err)
	}
	o.Runner, o.Origin = []string{self, "tasks", "runner"}, s.inherited
	if OwnAttempt() != "" {
		o.MaxRunning = -1 // agents do not start waiting attempts
	}
	o.Boxed = append([]string{self}, box.Args...)
	if o.RunnerEnv, err = s.environment(); err != nil {
		return o, err
	}
	// A script or agent that runs deskhand uses the same installation. The store's
	// location is not passed on, because it may contain a password.
	for _, v := range o.RunnerEnv {
		if name, _, _ := strings.Cut(v, "="); name == "DESKHAND_STATE" || name == "DESKHAND_CONFIG" || name == DigestVariable || name == "DESKHAND_INDEX" {
			o.AttemptEnv = append(o.AttemptEnv, v)
		}
	}
	o.Config, err = s.runConfiguration(o.RunnerEnv)
	return o, err
}

// runConfiguration returns the effective settings that determine a run. A process
// that starts a waiting run must have the same settings.
func (s *Settings) runConfiguration(effective []string) (c tasks.Configuration, err error) {
	if err := s.tree("tasks.wrap", &c.Wrap); err != nil {
		return c, err
	}
	for _, v := range effective {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case name == "DESKHAND_CONFIG":
			c.File = value
		case strings.HasPrefix(name, "DESKHAND_TASKS_"), name == "DESKHAND_INDEX" && s.given("index"):
			c.Settings = append(c.Settings, v)
		}
	}
	return c, nil
}

// shownExecutors returns the configured executors as JSON, without the values of
// environment variables.
func (s *Settings) shownExecutors() (string, error) {
	configured := map[string]executor.Config{}
	if err := s.tree("tasks.executors", &configured); err != nil || len(configured) == 0 {
		return "", nil // Check reports the error
	}
	for id, c := range configured {
		c.Env, c.Headers = masked(c.Env), masked(c.Headers)
		for name, v := range c.Variants {
			v.Env = masked(v.Env)
			c.Variants[name] = v
		}
		configured[id] = c
	}
	text, err := json.Marshal(configured)
	return string(text), err
}

func masked(env map[string]string) map[string]string {
	for name := range env {
		env[name] = "********"
	}
	return env
}

// agents returns the coding agents that can be started, which are the built-in agents
// merged with the configured ones. Each agent runs under tasks.wrap.
func (s *Settings) agents() (*executor.Table, error) {
	configured := map[string]executor.Config{}
	if err := s.tree("tasks.executors", &configured); err != nil {
		return nil, err
	}
	var wrap []string
	if err := s.tree("tasks.wrap", &wrap); err != nil {
		return nil, err
	}
	table, err := executor.New(configured)
	if err != nil || len(wrap) == 0 {
		return table, err
	}
	all := table.Configs()
	for _, info := range table.List() {
		// If the agent's program is missing, the wrapper would hide this, so only
		// installed agents are wrapped. In a container, there is no wrapper.
		if c := all[info.ID]; info.Missing == "" && len(c.Command) > 0 && c.Agent == "" {
			c.Command = slices.Concat(wrap, c.Command)
			if c.Resume != nil {
				c.Resume = slices.Concat(wrap, c.Resume)
			}
			all[info.ID] = c
		}
	}
	return executor.New(all)
}

// guards maps the values of tasks.diff-guard to guards.
var guards = map[string]worktree.Guard{"safe": worktree.Safe, "balanced": worktree.Balanced, "relaxed": worktree.Relaxed, "off": {}}

// retained returns how long worktrees are kept, by status. It returns nil if the
// defaults of package tasks apply.
func (s *Settings) retained() (map[tasks.Status]time.Duration, error) {
	list := s.list("tasks.retain")
	if len(list) == 0 {
		return nil, nil
	}
	retain := map[tasks.Status]time.Duration{}
	for _, one := range list {
		status, text, _ := strings.Cut(one, "=")
		d, err := Days(text)
		if err != nil || !slices.Contains(tasks.Statuses, tasks.Status(status)) {
			return nil, fault.Misuse(fmt.Sprintf("tasks.retain has %q, not STATUS=TIME", one), "write, for example, done=7d, inreview=720h; fix "+s.origin("tasks.retain"))
		}
		retain[tasks.Status(status)] = d
	}
	return retain, nil
}

// Days parses a duration such as 90s, 2h or 7d.
func Days(text string) (time.Duration, error) {
	if n, ok := strings.CutSuffix(text, "d"); ok {
		count, err := strconv.ParseUint(n, 10, 14)
		return time.Duration(count) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is negative", text)
	}
	return d, err
}

// tree decodes a setting of any type into v. If the setting is empty, v is unchanged.
func (s *Settings) tree(name string, v any) error {
	text := s.get(name)
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fault.Misuse(fmt.Sprintf("%s of %s: %s", key(name), s.origin(name), strings.TrimPrefix(err.Error(), "json: ")), "see the executor reference in the manual for its format")
	}
	return nil
}

// environment returns the effective settings as environment variables for a deskhand
// process that is started in another folder. It omits the token and the person's key.
func (s *Settings) environment() (vars []string, err error) {
	if s.file != "" {
		path, err := absolute(s.file)
		if err != nil {
			return nil, err
		}
		vars = append(vars, "DESKHAND_CONFIG="+path, DigestVariable+"="+s.project.digest())
	}
	for _, one := range table {
		if one.name == "token" || one.name == "person-key" || !s.given(one.name) && !one.path {
			continue
		}
		text := strings.Join(s.list(one.name), ",")
		if one.path && text != "" && strings.HasSuffix(text, one.suffix) && !strings.Contains(text, "://") {
			if text, err = absolute(text); err != nil && s.given(one.name) {
				return nil, err
			}
		}
		if text != "" {
			vars = append(vars, variable(one.name)+"="+text)
		}
	}
	return vars, nil
}

// absolute returns an absolute path. It returns an error if the working directory no
// longer exists, for example because its attempt was deleted.
func absolute(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fault.Misuse("the working directory no longer exists: "+err.Error(), "change to an existing folder")
	}
	return path, nil
}

// sandboxOptions sets the options of the agents' sandbox.
func (s *Settings) sandboxOptions(o *tasks.Options) error {
	o.Sandbox, o.Network = box.Mode(s.get("tasks.sandbox")), s.list("tasks.sandbox-network")
	if err := s.check("tasks.sandbox", "tasks.sandbox-network", "tasks.sandbox-read", "tasks.sandbox-write"); err != nil {
		return err
	}
	if len(o.Network) == 0 {
		o.Network = []string{box.NetworkOn}
	}
	var wrap []string
	if err := s.tree("tasks.wrap", &wrap); err != nil {
		return err
	}
	if len(wrap) > 0 && !s.given("tasks.sandbox") {
		o.Sandbox = box.None // the wrapper command is the sandbox
	}
	o.SandboxRead, o.SandboxWrite, o.Image = s.list("tasks.sandbox-read"), s.list("tasks.sandbox-write"), s.get("tasks.sandbox-image")
	state, err := s.StateDir()
	if err != nil {
		return err
	}
	o.Private = []string{state}
	// The index setting may come from a project file, or the default path may be a link,
	// so the folder could be any folder. It may therefore be read only if it contains
	// nothing but an index.
	if index, err := absolute(s.get("index")); err == nil && artifact.Alone(index) {
		o.SandboxRead = append(o.SandboxRead, index)
	}
	return nil
}

// isFromRoot reports whether a path starts with the root, the home folder or a
// variable.
func isFromRoot(path string) bool {
	return filepath.IsAbs(path) || strings.HasPrefix(path, "~/") || strings.HasPrefix(path, "$")
}
