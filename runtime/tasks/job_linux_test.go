package tasks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/box/boxtest"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// inJobs returns settings with an executor "job", which runs the scripted agent in a Job of
// a double of Kubernetes.
func inJobs(t *testing.T, change func(*executor.Config)) (settings, boxtest.Cluster) {
	t.Helper()
	cluster := boxtest.NewCluster(t)
	t.Setenv("HOME", t.TempDir()) // the pods of the double have this machine's files
	c := executor.Config{Kind: "kubernetes", Agent: "fake", Container: box.ContainerConfig{Image: "agents:1", Namespace: "agents", Claims: []string{"work:" + filepath.Dir(t.TempDir())}}}
	if change != nil {
		change(&c)
	}
	return settings{Dir: t.TempDir(), Agents: map[string]executor.Config{"job": c}}, cluster
}

// A person's agent works in a Job as it does outside: with git, setup and cleanup scripts,
// questions, secrets and follow-ups. No Job is left.
func TestAJobExecutorWorks(t *testing.T) {
	answer := filepath.Join(t.TempDir(), "answer")
	write(t, answer, "the-left-one")
	t.Setenv("SHOP_API_KEY", "key-of-the-shop")
	s, cluster := inJobs(t, func(c *executor.Config) {
		c.Pass = []string{"SHOP_API_KEY"}
		c.Container.Secrets = []string{"cloud"}
		c.Container.Projects = map[string]box.ContainerConfig{"shop": {Image: "shop:3", Labels: map[string]string{"team": "shop"}, Memory: "1g"}}
	})
	cluster.Put(t, "secret-cloud", "CLOUD_KEY=of-the-cloud")
	s.Answer = answer
	path := gitRepo(t)
	git(t, path, "config", "user.name", "Ada")
	git(t, path, "config", "user.email", "ada@example.com")
	d := openAt(t, t.TempDir(), Repo{Path: path, Name: "app", Setup: "echo ready $DESKHAND_SANDBOX > setup.txt", Cleanup: "echo clean > cleanup.txt"}, s)
	started := d.startIn("job", "run echo by-hand > a.txt && git add a.txt && git commit -qm mine && git log --oneline | wc -l",
		"run echo sandbox $DESKHAND_SANDBOX key ${#SHOP_API_KEY} cloud ${#CLOUD_KEY}", "run echo trouble >&2", "ask which way", "write b.txt more")
	now := d.ended(started.AttemptID)
	said := d.everything(started.AttemptID)
	if now.State != Completed || !strings.Contains(now.Sandbox.String(), "container, network on: kubectl, image ") {
		t.Fatalf("Status = %+v\n%s", now, said)
	}
	for _, want := range []string{"sandbox container key 15 cloud 12", "trouble", "the-left-one"} {
		if !strings.Contains(said, want) {
			t.Errorf("the agent did not say %q:\n%s", want, said)
		}
	}
	if got := git(t, path, "ls-tree", "--name-only", started.Branch); got != "README.md\na.txt\nb.txt\ncleanup.txt\nsetup.txt" {
		t.Errorf("the branch has %q", got)
	}
	if made := cluster.Made(); strings.Contains(made, "key-of-the-shop") || strings.Contains(made, "of-the-cloud") || strings.Contains(made, "which way") || !strings.Contains(made, `"secretRef":{"name":"cloud"}`) {
		t.Errorf("the Jobs were\n%s", made)
	}
	if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "run cat a.txt > c.txt"}); err != nil {
		t.Fatal(err)
	}
	d.until(started.AttemptID, "went on", func(s AttemptStatus) bool { return s.ProcessID != now.ProcessID && s.State == Completed })
	if got := git(t, path, "show", started.Branch+":c.txt"); got != "by-hand" {
		t.Errorf("c.txt is %q", got)
	}
	if left := cluster.Jobs(t); len(left) > 0 {
		t.Errorf("Jobs are left: %q", left)
	}
	if calls := cluster.Calls(); !strings.Contains(calls, "--namespace agents create --filename -") {
		t.Errorf("kubectl was called with\n%s", calls)
	}
}

// everything returns what all processes of an attempt have written.
func (d *desk) everything(attempt string) (said string) {
	d.t.Helper()
	processes, err := d.Processes(d.t.Context(), attempt)
	for _, p := range processes {
		page, e := d.Logs(d.t.Context(), LogQuery{AttemptID: attempt, ProcessID: p.ID, Channel: Raw, Limit: 1000})
		if err = e; err != nil {
			break
		}
		for _, entry := range page.Entries {
			said += string(entry.Entry) + "\n"
		}
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return said
}

// How a Job failed is told, in the agent's or the cluster's own words.
func TestAJobExecutorsFailureIsTold(t *testing.T) {
	s, cluster := inJobs(t, nil)
	with := func(change func(*executor.Config)) executor.Config {
		c := s.Agents["job"]
		change(&c)
		return c
	}
	s.Agents["no-image"] = with(func(c *executor.Config) { c.Container.Image = "no-such:1" })
	s.Agents["no-program"] = with(func(c *executor.Config) { c.Agent, c.Command = "claude-stream", []string{"no-such-agent"} })
	s.Agents["no-claim"] = with(func(c *executor.Config) { c.Container.Claims = []string{"other:/srv/other"} })
	s.Agents["closed"] = with(func(c *executor.Config) { c.Network = []string{box.NetworkOff} })
	d := openAt(t, t.TempDir(), Repo{}, s)
	for id, c := range map[string]struct{ script, want string }{
		"job":        {"fail no such thing", "no such thing"},
		"no-image":   {"say hello", "ImagePullBackOff"},
		"no-program": {"say hello", "no-such-agent"},
		"no-claim":   {"say hello", "on no claim"},
		"closed":     {"say hello", "cannot close the network"},
	} {
		now := d.ended(d.startIn(id, c.script).AttemptID)
		if now.State != Failed || !strings.Contains(now.Failure, c.want) {
			t.Errorf("%s: %s, %q; want failed with %q", id, now.State, now.Failure, c.want)
		}
	}
	if now := d.ended(d.startIn("job", "run sleep 0.1", "crash").AttemptID); now.State != Failed || !strings.Contains(now.Failure, "signal: killed") {
		t.Errorf("a crash: %s, %q", now.State, now.Failure)
	}
	cluster.Put(t, "forbidden", "")
	if now := d.ended(d.startIn("job", "say hello").AttemptID); now.State != Failed || !strings.Contains(now.Failure, "may not create Jobs") {
		t.Errorf("forbidden: %s, %q", now.State, now.Failure)
	}
	cluster.Gone(t)
}

// A stop asks the agent to end, then removes its Job.
func TestAJobExecutorIsStopped(t *testing.T) {
	s, cluster := inJobs(t, nil)
	d := openAt(t, t.TempDir(), Repo{}, s)
	for name, c := range map[string]struct {
		script []string
		force  bool
	}{
		"gently":          {[]string{"write half.txt done", "sleep 600"}, false},
		"ignores signals": {[]string{"run trap '' INT TERM; sleep 600"}, false},
		"by force":        {[]string{"write half.txt done", "hang"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			started := d.startIn("job", c.script...)
			waittest.Until(t, "a Job runs", func() (bool, any) {
				now, _ := d.Status(t.Context(), started.AttemptID)
				return now.SessionID != "" && len(cluster.Jobs(t)) == 1, now
			})
			stopped, err := d.Stop(t.Context(), started.AttemptID, c.force)
			now := d.ended(started.AttemptID)
			if err != nil || !stopped.Stopped || now.Failure != "killed" {
				t.Errorf("Stop = %+v, %v; %+v", stopped, err, now)
			}
			cluster.Gone(t)
			nobodyInside(t, started.AttemptID)
		})
	}
}

// Whenever a runner is killed: after a sweep there is no Job of its run, and the attempt
// continues.
func TestAttackBoxAJobExecutorsRunnerIsKilled(t *testing.T) {
	s, cluster := inJobs(t, nil)
	s.Lease = time.Hour // only sweeps look for dead processes
	path := gitRepo(t)
	git(t, path, "config", "user.name", "Ada")
	git(t, path, "config", "user.email", "ada@example.com")
	d := openAt(t, t.TempDir(), Repo{Path: path, Name: "app"}, s)
	for round := range rounds(t, 4) {
		started := d.startIn("job", "write a.txt "+fmt.Sprint(round), "run git add -A && git commit -qm own && echo committed", "run while :; do sleep 0.1; done")
		waittest.Until(t, "a runner", func() (bool, any) { return d.running(started.AttemptID).runner > 0, nil })
		runner := d.running(started.AttemptID).runner
		waittest.Until(t, "a Job", func() (bool, any) {
			now, _ := d.Status(t.Context(), started.AttemptID)
			return len(cluster.Jobs(t)) == 1 && (round%2 == 0 || now.SessionID != "" && strings.Contains(d.everything(started.AttemptID), "committed")), now
		})
		if err := syscall.Kill(runner, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the runner is dead", func() (bool, any) { return dead(runner), nil })
		d.ownerless()
		now := d.ended(started.AttemptID)
		if now.State != Failed || !strings.Contains(now.Failure, "lost") {
			t.Fatalf("round %d: %+v", round, now)
		}
		cluster.Gone(t)
		nobodyInside(t, started.AttemptID)
		if round%2 == 0 {
			continue
		}
		if _, err := d.FollowUp(t.Context(), FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "write after.txt x"}); err != nil {
			t.Fatal(err)
		}
		d.until(started.AttemptID, "went on", func(s AttemptStatus) bool { return s.ProcessID != now.ProcessID && s.State == Completed })
		if got := git(t, path, "show", started.Branch+":after.txt"); got != "x" {
			t.Errorf("round %d: after.txt is %q", round, got)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "runs")); err == nil {
		if records, _ := filepath.Glob(filepath.Join(s.Dir, "runs", "*", "containers")); len(records) > 0 {
			t.Errorf("Jobs that are gone are still recorded: %q", records)
		}
	}
}
