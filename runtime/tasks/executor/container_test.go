package executor

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// contained is an agent in a container of an image.
func contained(agent string) Config {
	return Config{Kind: "container", Agent: agent, Container: box.ContainerConfig{Image: "agents:1"}}
}

// inJob is an agent in a Job.
func inJob(agent string, change ...func(*box.ContainerConfig)) Config {
	c := Config{Kind: "kubernetes", Agent: agent, Container: box.ContainerConfig{Image: "agents:1", Claims: []string{"work:/srv/deskhand"}}}
	for _, f := range change {
		f(&c.Container)
	}
	return c
}

// A Job runs any program as a container does.
func TestAJobRunsAnotherExecutorsAgent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	tb := table(t, map[string]Config{"job": inJob("claude-stream")})
	if got, ok := tb.Container("JOB"); !ok || got.Engine != box.Kubectl || got.Image != "agents:1" || tb.configs["job"].kind().name != "stream" {
		t.Errorf("Container = %+v, %v", got, ok)
	}
	for _, i := range tb.List() {
		if i.ID == "job" && (i.Kind != "kubernetes" || i.Missing != "kubectl is not on the path") {
			t.Errorf("info %+v", i)
		}
	}
	if again := table(t, tb.Configs()); !reflect.DeepEqual(again.configs["job"], tb.configs["job"]) { // as with tasks.wrap
		t.Errorf("a second time: %+v", again.configs["job"])
	}
}

// A container runs any program as its own executor would, with the container's changes.
func TestAContainerRunsAnotherExecutorsAgent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	c := contained("Claude_Stream")
	c.Env, c.Pass, c.Default, c.Network = map[string]string{"MORE": "1"}, []string{"PROXY_KEY"}, "opus", []string{"api.example.com"}
	tb := table(t, map[string]Config{"boxed": c, "claude-stream": {Env: map[string]string{"BASE": "1"}}, "mine": {Kind: "shell", Command: []string{"my-agent"}}, "boxed-mine": contained("mine"), "tests": contained("fake")})
	outside, inside := tb.configs["claude-stream"], tb.configs["boxed"]
	if !slices.Equal(inside.Command, outside.Command) || !slices.Equal(inside.Resume, outside.Resume) || inside.Lost != outside.Lost || inside.kind().name != "stream" ||
		!reflect.DeepEqual(inside.Env, map[string]string{"BASE": "1", "MORE": "1"}) || !slices.Contains(inside.Pass, "ANTHROPIC_*") || !slices.Contains(inside.Pass, "PROXY_KEY") {
		t.Errorf("in the container: %+v", inside)
	}
	if slices.Contains(outside.Pass, "PROXY_KEY") || outside.Env["MORE"] != "" {
		t.Errorf("outside: %+v", outside)
	}
	if needs, mode, network := tb.Boxing("boxed"); mode != "" || !slices.Equal(network, []string{"api.example.com"}) || len(needs.Write) == 0 {
		t.Errorf("Boxing = %+v, %q, %q", needs, mode, network)
	}
	if got, ok := tb.Container("BOXED"); !ok || got.Image != "agents:1" {
		t.Errorf("Container = %+v, %v", got, ok)
	}
	if _, ok := tb.Container("claude-stream"); ok {
		t.Error("an executor of another kind has a container")
	}
	if !tb.Scripted("tests") || tb.Scripted("boxed") || !tb.Here("boxed") {
		t.Error("the agent's own kind does not apply")
	}
	for _, i := range tb.List() {
		if i.ID == "boxed" && (i.Kind != "container" || !i.FollowUp || i.Missing != "neither docker nor podman is on the path" || !slices.Equal(i.Variants, []string{"full-access", "opus"})) {
			t.Errorf("info %+v", i)
		}
	}
	again := table(t, tb.Configs()) // as with tasks.wrap
	if !reflect.DeepEqual(again.configs["boxed"], inside) {
		t.Errorf("a second time: %+v, want %+v", again.configs["boxed"], inside)
	}
}

func TestAContainersConfigurationIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		configs map[string]Config
		says    string
	}{
		"no agent":         {map[string]Config{"boxed": {Kind: "container", Container: box.ContainerConfig{Image: "a"}}}, "no agent"},
		"unknown agent":    {map[string]Config{"boxed": contained("nobody")}, `no executor "nobody"`},
		"itself":           {map[string]Config{"boxed": contained("boxed")}, "runs in a container itself"},
		"another one":      {map[string]Config{"a": contained("b"), "b": contained("fake")}, "runs in a container itself"},
		"a remote agent":   {map[string]Config{"far": {Kind: "a2a", URL: "https://x.example"}, "boxed": contained("far")}, "not a program"},
		"no image":         {map[string]Config{"boxed": {Kind: "container", Agent: "fake"}}, "no container.image"},
		"an option":        {map[string]Config{"boxed": {Kind: "container", Agent: "fake", Container: box.ContainerConfig{Image: "-v/:/host"}}}, "not the name of an image"},
		"a sandbox":        {map[string]Config{"boxed": {Kind: "container", Agent: "fake", Sandbox: box.None, Container: box.ContainerConfig{Image: "a"}}}, "sandbox does not apply"},
		"a url":            {map[string]Config{"boxed": {Kind: "container", Agent: "fake", URL: "https://x.example", Container: box.ContainerConfig{Image: "a"}}}, "url and headers"},
		"unknown variant":  {map[string]Config{"boxed": {Kind: "container", Agent: "fake", Default: "big", Container: box.ContainerConfig{Image: "a"}}}, "not one of its variants"},
		"another kind":     {map[string]Config{"mine": {Kind: "shell", Command: []string{"x"}, Container: box.ContainerConfig{Image: "a"}}}, "need the kind container or kubernetes"},
		"a built-in agent": {map[string]Config{"claude": {Container: box.ContainerConfig{Image: "a"}}}, "need the kind container or kubernetes"},
		"engine kubectl":   {map[string]Config{"boxed": {Kind: "container", Agent: "fake", Container: box.ContainerConfig{Image: "a", Engine: box.Kubectl}}}, "use the kind kubernetes"},
		"labels":           {map[string]Config{"boxed": {Kind: "container", Agent: "fake", Container: box.ContainerConfig{Image: "a", Namespace: "x"}}}, "need the kind kubernetes"},
		"no claim":         {map[string]Config{"job": {Kind: "kubernetes", Agent: "fake", Container: box.ContainerConfig{Image: "a"}}}, "no container.claims"},
		"another engine":   {map[string]Config{"job": {Kind: "kubernetes", Agent: "fake", Container: box.ContainerConfig{Image: "a", Engine: "podman", Claims: []string{"c:/srv"}}}}, "engine does not apply"},
		"a job in a job":   {map[string]Config{"a": inJob("b"), "b": inJob("fake")}, "runs in a container itself"},
		"a job's mounts":   {map[string]Config{"job": inJob("fake", func(c *box.ContainerConfig) { c.Mounts = []string{"/data"} })}, "do not apply to a Job"},
		"a secret's value": {map[string]Config{"job": inJob("fake", func(c *box.ContainerConfig) { c.Secrets = []string{"KEY=hunter2"} })}, "not the name of a Secret"},
		"a project's pids": {map[string]Config{"job": inJob("fake", func(c *box.ContainerConfig) { c.Projects = map[string]box.ContainerConfig{"shop": {PIDs: 3}} })}, "do not apply to a Job"},
		"project's engine": {map[string]Config{"job": inJob("fake", func(c *box.ContainerConfig) {
			c.Projects = map[string]box.ContainerConfig{"shop": {Engine: "podman"}}
		})}, "its engine is"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(c.configs)
			wantFault(t, "New", err, InvalidArgument, c.says)
		})
	}
}

// An agent for a container never runs outside, and its program is not looked for here.
func TestAttackBoxAContainersAgentNeverRunsOutside(t *testing.T) {
	tb := table(t, map[string]Config{"mine": {Kind: "shell", Command: []string{"no-such-agent", "{{prompt}}"}}, "boxed": contained("mine")})
	if _, err := tb.Start(t.Context(), "boxed", Spec{Dir: t.TempDir(), Prompt: "x", Log: &memory{}}); err == nil || !strings.Contains(err.Error(), "only in a container") {
		t.Errorf("Start = %v", err)
	}
	killed := 0
	said := filepath.Join(t.TempDir(), "said")
	s := Spec{Prompt: "do $(it)", Kill: func() { killed++ }, Box: func(line, env []string, _ string) ([]string, []string, error) {
		if err := os.WriteFile(said, []byte(strings.Join(line, "|")), 0o600); err != nil {
			t.Error(err)
		}
		return []string{os.Args[0], "-test.run=^$"}, env, nil
	}}
	r, _ := start(t, tb, "boxed", s)
	<-r.Done()
	if line, _ := os.ReadFile(said); string(line) != "no-such-agent|do $(it)" {
		t.Errorf("the container runs %q", line)
	}
	if r.Kill(); killed != 1 {
		t.Errorf("Kill called Spec.Kill %d times", killed)
	}
}
