package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// tasksOptions are the settings of attempts; an error is a misuse that names the
// one to correct.
func (a *app) tasksOptions() (o tasks.Options, err error) {
	state, err := a.settings.stateFolder()
	if err != nil {
		return o, err
	}
	if o.Dir, err = filepath.Abs(filepath.Join(state, "tasks")); err != nil {
		return o, fmt.Errorf("find state folder: %w", err)
	}
	if o.MaxRunning, err = a.settings.atLeast("tasks.max-running", 0); err != nil {
		return o, err
	}
	if o.WallClock, err = a.settings.long("tasks.time-limit"); err != nil {
		return o, err
	}
	if o.Silence, err = a.settings.long("tasks.idle-limit"); err != nil {
		return o, err
	}
	if o.Retain, err = a.retained(); err != nil {
		return o, err
	}
	guard, ok := guards[a.settings.get("tasks.diff-guard")]
	if !ok {
		return o, a.settings.wrong("tasks.diff-guard", "not safe, balanced, relaxed or off", "")
	}
	o.Guard = &guard
	o.BranchPrefix, o.Env = a.settings.get("tasks.branch-prefix"), a.settings.list("tasks.env")
	if strings.ContainsAny(o.BranchPrefix, " ~^:?*[\\") || strings.HasPrefix(o.BranchPrefix, "-") || strings.Trim(o.BranchPrefix, "/") != o.BranchPrefix {
		return o, a.settings.wrong("tasks.branch-prefix", "which no git branch can begin with", "use letters, digits and dashes, as deskhand")
	}
	if o.Agents, err = a.agents(); err != nil {
		return o, err
	}
	if err = a.sandboxOptions(&o); err != nil {
		return o, err
	}
	self, err := os.Executable()
	if err != nil {
		return o, fmt.Errorf("find this program: %w", err)
	}
	o.Runner, o.Launcher, o.Origin = []string{self, "tasks", "runner"}, []string{self, "tasks", "launcher"}, a.settings.inherited
	if ownAttempt() != "" {
		o.MaxRunning = -1 // what waits is not for an agent to start
	}
	o.Boxed = append([]string{self}, box.Args...)
	if o.RunnerEnv, err = a.settings.environment(); err != nil {
		return o, err
	}
	// What a script or an agent calls by the name of deskhand finds the same
	// place, but for a store whose address may hold a password.
	for _, v := range o.RunnerEnv {
		if name, _, _ := strings.Cut(v, "="); name == "DESKHAND_STATE" || name == "DESKHAND_CONFIG" || name == digestVariable || name == "DESKHAND_INDEX" {
			o.AttemptEnv = append(o.AttemptEnv, v)
		}
	}
	o.Config, err = a.runConfiguration(o.RunnerEnv)
	return o, err
}

// runConfiguration picks out of the settings in effect those that make a run what
// it is: whoever starts what waits has to have the same.
func (a *app) runConfiguration(effective []string) (c tasks.Configuration, err error) {
	if err := a.settings.tree("tasks.wrap", &c.Wrap); err != nil {
		return c, err
	}
	for _, v := range effective {
		name, value, _ := strings.Cut(v, "=")
		switch {
		case name == "DESKHAND_CONFIG":
			c.File = value
		case strings.HasPrefix(name, "DESKHAND_TASKS_"), name == "DESKHAND_INDEX" && a.settings.given("index"):
			c.Settings = append(c.Settings, v)
		}
	}
	return c, nil
}

// shownExecutors are those configured as JSON, without the values of variables.
func (a *app) shownExecutors() (string, error) {
	configured := map[string]executor.Config{}
	if err := a.settings.tree("tasks.executors", &configured); err != nil || len(configured) == 0 {
		return "", nil // checkSettings says what is wrong
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

// agents are the coding agents that can be started: those configured over those
// shipped, each behind tasks.wrap.
func (a *app) agents() (*executor.Table, error) {
	configured := map[string]executor.Config{}
	if err := a.settings.tree("tasks.executors", &configured); err != nil {
		return nil, err
	}
	var wrap []string
	if err := a.settings.tree("tasks.wrap", &wrap); err != nil {
		return nil, err
	}
	table, err := executor.New(configured)
	if err != nil || len(wrap) == 0 {
		return table, err
	}
	all := table.Configs()
	for _, info := range table.List() {
		// One that is not installed must go on saying so, which a command that
		// begins with the wrapper does not.
		if c := all[info.ID]; info.Missing == "" && len(c.Command) > 0 {
			c.Command = slices.Concat(wrap, c.Command)
			if c.Resume != nil {
				c.Resume = slices.Concat(wrap, c.Resume)
			}
			all[info.ID] = c
		}
	}
	return executor.New(all)
}

// guards are the values of tasks.diff-guard.
var guards = map[string]worktree.Guard{"safe": worktree.Safe, "balanced": worktree.Balanced, "relaxed": worktree.Relaxed, "off": {}}

// retained reads how long worktrees are kept; nil: the room's own.
func (a *app) retained() (map[tasks.Status]time.Duration, error) {
	list := a.settings.list("tasks.retain")
	if len(list) == 0 {
		return nil, nil
	}
	retain := map[tasks.Status]time.Duration{}
	for _, one := range list {
		status, text, _ := strings.Cut(one, "=")
		d, err := days(text)
		if err != nil || !slices.Contains(tasks.Statuses, tasks.Status(status)) {
			return nil, misuse(fmt.Sprintf("tasks.retain has %q, not STATUS=TIME", one), "write it as done=7d, inreview=720h; correct "+a.settings.origin("tasks.retain"))
		}
		retain[tasks.Status(status)] = d
	}
	return retain, nil
}

// days reads a time such as 90s, 2h or 7d.
func days(text string) (time.Duration, error) {
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

// long is the value of a setting that is a time of a second or more.
func (s *settings) long(name string) (time.Duration, error) {
	d, err := days(s.get(name))
	if err != nil || d < time.Second {
		return 0, s.wrong(name, "not a time of a second or more", "write it as 90s, 30m, 6h or 7d")
	}
	return d, nil
}

// tree reads the value of a setting of any shape into v, which stays as it is
// without one.
func (s *settings) tree(name string, v any) error {
	text := s.get(name)
	if text == "" {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return misuse(fmt.Sprintf("%s of %s: %s", key(name), s.origin(name), strings.TrimPrefix(err.Error(), "json: ")), "see the executor reference of the manual for its shape")
	}
	return nil
}

// environment are the settings in effect as variables, for a process of ours
// that starts elsewhere. The token and the person's key are none of its business.
func (s *settings) environment() (vars []string, err error) {
	if s.file != "" {
		path, err := absolute(s.file)
		if err != nil {
			return nil, err
		}
		vars = append(vars, "DESKHAND_CONFIG="+path, digestVariable+"="+s.project.digest())
	}
	for _, one := range shared {
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

// absolute is a path from the root, or empty with an error where the working
// directory is gone, as that of an attempt which was deleted meanwhile.
func absolute(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", misuse("the working directory is gone: "+err.Error(), "change to a folder that exists")
	}
	return path, nil
}
