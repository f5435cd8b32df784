package attempts_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// desk is an installation with one project, and what its commands have printed.
type desk struct {
	*attempts.Command
	out, err bytes.Buffer
}

func opened(t *testing.T, asJSON bool) *desk {
	t.Helper()
	state := t.TempDir()
	all := app.Open(app.Config{Place: app.Part[string]{Value: state}, StateDir: app.Part[string]{Value: state},
		Tasks: app.Part[tasks.Options]{Value: tasks.Options{Dir: filepath.Join(state, "tasks"), Runner: []string{"false"}}}})
	t.Cleanup(all.Close)
	m, err := all.Work(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{}
	d.Command = attempts.New(&console.Console{Stdin: strings.NewReader(""), Stdout: &d.out, Stderr: &d.err},
		attempts.Options{Manager: m, Questions: all.Questions, Pauses: all.Pauses, Hub: all.Hub, AsJSON: asJSON,
			Hints: fault.Hints{tasks.WhichTask: "list the tasks: deskhand tasks ls"}})
	return d
}

// printed is what was printed since the last call.
func (d *desk) printed() string {
	defer d.out.Reset()
	return d.out.String()
}

// withProject adds the project shop with a repository of its own.
func (d *desk) withProject(t *testing.T) *desk { return d.withProjectNamed(t, "shop") }

func (d *desk) withProjectNamed(t *testing.T, name string) *desk {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-qb", "main"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	if err := d.AddRepo(t.Context(), name, tasks.Repo{Path: dir, Name: "web"}, tasks.RepoChange{}); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestATaskFromItsMakingToItsEnd(t *testing.T) {
	d := opened(t, false).withProject(t)
	if got := d.printed(); !strings.HasSuffix(got, "  project shop has repository web; attempts start from main\n") {
		t.Errorf("AddRepo prints %q", got)
	}
	if err := d.Add(t.Context(), "", map[string]any{"title": "Round prices", "description": "", "request_id": ""}, attempts.Planning{}); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(d.printed())
	if err := d.List(t.Context(), attempts.Listing{Project: "shop", Limit: 10}); err != nil {
		t.Fatal(err)
	}
	if got := d.printed(); !strings.Contains(got, "ID") || !strings.Contains(got, tasks.ShortID(id)) || !strings.Contains(got, "todo") || !strings.Contains(got, "Round prices") {
		t.Errorf("List prints %q, want the task %s", got, id)
	}
	if err := d.Set(t.Context(), tasks.ShortID(id), map[string]any{"status": "done"}, attempts.Planning{}); err != nil {
		t.Fatal(err)
	}
	if got, want := d.printed(), tasks.ShortID(id)+"  done  Round prices\n"; got != want {
		t.Errorf("Set prints %q, want %q", got, want)
	}
	if err := d.Remove(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	if got, want := d.printed(), tasks.ShortID(id)+"  deleted\n"; got != want {
		t.Errorf("Remove prints %q, want %q", got, want)
	}
}

func TestAnUnknownTaskHasTheHintOfTheCommands(t *testing.T) {
	d := opened(t, false).withProject(t)
	err := d.Worded(d.Show(t.Context(), "ffffffff", false))
	if f := fault.Of(err); f == nil || f.Code != tasks.NotFound || f.Hint != "list the tasks: deskhand tasks ls" {
		t.Errorf("Show of no task: %v, want that there is none and where to look", err)
	}
}

func TestJSONIsTheAnswerOfTheTool(t *testing.T) {
	d := opened(t, true).withProject(t)
	d.printed()
	if err := d.Projects(t.Context()); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Projects []struct{ Name string }
		Count    int
	}
	if err := json.Unmarshal(d.out.Bytes(), &list); err != nil || list.Count != 1 || list.Projects[0].Name != "shop" {
		t.Errorf("Projects prints %s, %v", d.out.String(), err)
	}
}

// Several projects and none named is a question that only the caller can answer.
func TestOfSeveralProjectsOneIsNamed(t *testing.T) {
	d := opened(t, false).withProject(t)
	other := exec.Command("git", "init", "-qb", "main", filepath.Join(t.TempDir(), "x"))
	if out, err := other.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	dir := other.Args[len(other.Args)-1]
	commit := exec.Command("git", "-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "other")
	if out, err := commit.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if err := d.AddRepo(t.Context(), "depot", tasks.Repo{Path: dir}, tasks.RepoChange{}); err != nil {
		t.Fatal(err)
	}
	err := d.List(t.Context(), attempts.Listing{Limit: 10})
	if f := fault.Of(err); f == nil || f.Code != "misuse" || !strings.Contains(f.Hint, "depot") || !strings.Contains(f.Hint, "shop") {
		t.Errorf("List of no project: %v, want the names of both", err)
	}
}
