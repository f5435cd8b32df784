package tasks_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// peer returns a manager with its own connection to the store, like another process.
func peer(t testing.TB, place string, o Options) *Manager {
	m, _ := peerAndStore(t, place, o)
	return m
}

func peerAndStore(t testing.TB, place string, o Options) (*Manager, *store.DB) {
	t.Helper()
	db, err := store.Open(context.Background(), place, Schemas()...)
	if err != nil {
		t.Fatalf("Open(%s) = %v", place, err)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	m := New(db, o)
	t.Cleanup(func() { m.Close(); db.Close() })
	return m, db
}

// gitRepo creates a repository with one commit on main, and returns its path.
func gitRepo(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	for _, name := range append(files, "README.md") {
		write(t, filepath.Join(dir, name), "# "+name+"\n")
	}
	git(t, dir, "add", "-A")
	git(t, dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", "first")
	return dir
}

func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// project creates a project with one repository.
func project(t testing.TB, m *Manager, r Repo) (Project, Repo) {
	t.Helper()
	if r.Path == "" {
		r.Path = gitRepo(t)
	}
	p, added, err := m.AddRepo(context.Background(), "desk", r)
	if err != nil {
		t.Fatalf("AddRepo(%+v) = %v", r, err)
	}
	return p, added
}

func task(t testing.TB, m *Manager, projectID, title string) Task {
	t.Helper()
	made, err := m.CreateTask(context.Background(), NewTask{ProjectID: projectID, Title: title})
	if err != nil {
		t.Fatalf("CreateTask(%q) = %v", title, err)
	}
	return made
}

func code(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Code
	}
	return ""
}

// refused checks that err is a fault with a code and a hint.
func refused(t testing.TB, call string, err error, want string) {
	t.Helper()
	f := fault.Of(err)
	if f == nil || f.Code != want || f.Hint == "" {
		t.Errorf("%s = %v (%+v), want a fault %s with a hint", call, err, f, want)
	}
}

func pointer[T any](v T) *T { return &v }

const nobody = "0190b5f8-0000-7000-8000-000000000000"

// TestProjectsHaveReposByName: T-017, T-018.
func TestProjectsHaveReposByName(t *testing.T) {
	m := peer(t, t.TempDir(), Options{})
	ctx := t.Context()
	path := gitRepo(t)
	p, r := project(t, m, Repo{Path: path, Name: "app"})
	if r.Name != "app" || r.TargetBranch != "main" || r.ProjectID != p.ID {
		t.Errorf("AddRepo = %+v, want app with target main in project %s", r, p.ID)
	}
	if p2, r2, err := m.AddRepo(ctx, "desk", Repo{Path: path, Name: "app", Setup: "make"}); err != nil || p2.ID != p.ID || r2.ID != r.ID || r2.Setup != "make" {
		t.Errorf("AddRepo again = %+v, %+v, %v; want the same ids and the new script", p2, r2, err)
	}
	if _, _, err := m.AddRepo(ctx, "desk", Repo{Path: gitRepo(t), Name: "lib"}); err != nil {
		t.Fatal(err)
	}
	_, _, err := m.AddRepo(ctx, "desk", Repo{Path: gitRepo(t), Name: "lib"})
	refused(t, "AddRepo of another repository by the same name", err, RepositoryConflict)
	_, _, err = m.AddRepo(ctx, "desk", Repo{Path: t.TempDir()})
	refused(t, "AddRepo of a folder without git", err, NotFound)
	_, _, err = m.AddRepo(ctx, "two\nlines", Repo{Path: path})
	refused(t, "AddRepo to a project with a line break in its name", err, InvalidArgument)
	_, _, err = m.AddRepo(ctx, "desk", Repo{})
	refused(t, "AddRepo of no path", err, InvalidArgument)
	_, _, err = m.AddRepo(ctx, "desk", Repo{Path: path, TargetBranch: "nope", Name: "x"})
	refused(t, "AddRepo with a branch that is not there", err, NotFound)
	repos, err := m.Repos(ctx, p.ID)
	if err != nil || len(repos) != 2 || repos[0].Name != "app" || repos[1].Name != "lib" {
		t.Errorf("Repos = %+v, %v; want app and lib", repos, err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if _, _, err := m.AddRepo(ctx, name, Repo{Path: path}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for page := (Page{Limit: 2}); ; {
		got, err := m.Projects(ctx, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range got.Projects {
			names = append(names, p.Name)
		}
		if page.Cursor = got.Next; got.Next == "" {
			break
		}
	}
	if want := []string{"a", "b", "c", "desk"}; !slices.Equal(names, want) {
		t.Errorf("Projects, page by page = %q, want %q", names, want)
	}
}

// TestUnknownAndBrokenIDsAreRefused: T-024, T-028.
func TestUnknownAndBrokenIDsAreRefused(t *testing.T) {
	m := peer(t, t.TempDir(), Options{})
	ctx := t.Context()
	for name, call := range map[string]func(id string) error{
		"Repos":      func(id string) error { _, err := m.Repos(ctx, id); return err },
		"Tasks":      func(id string) error { _, err := m.Tasks(ctx, TaskQuery{ProjectID: id}); return err },
		"Task":       func(id string) error { _, err := m.Task(ctx, id); return err },
		"CreateTask": func(id string) error { _, err := m.CreateTask(ctx, NewTask{ProjectID: id, Title: "x"}); return err },
		"UpdateTask": func(id string) error { _, err := m.UpdateTask(ctx, id, TaskChange{}); return err },
		"DeleteTask": func(id string) error { return m.DeleteTask(ctx, id) },
		"Attempts":   func(id string) error { _, err := m.Attempts(ctx, id); return err },
		"Attempt":    func(id string) error { _, err := m.Attempt(ctx, id); return err },
		"Processes":  func(id string) error { _, err := m.Processes(ctx, id); return err },
		"Context":    func(id string) error { _, err := m.Context(ctx, id); return err },
		"Status":     func(id string) error { _, err := m.Status(ctx, id); return err },
		"Stop":       func(id string) error { _, err := m.Stop(ctx, id, false); return err },
		"Changes":    func(id string) error { _, err := m.Changes(ctx, id, false); return err },
		"File":       func(id string) error { _, err := m.File(ctx, FileQuery{AttemptID: id, Path: "a/b"}); return err },
		"Patch": func(id string) error {
			_, err := m.Patch(ctx, PatchQuery{AttemptID: id, Paths: []string{"a/b"}})
			return err
		},
		"Logs":     func(id string) error { _, err := m.Logs(ctx, LogQuery{AttemptID: id}); return err },
		"Messages": func(id string) error { _, err := m.Messages(ctx, MessageQuery{SessionID: id}); return err },
		"FollowUp": func(id string) error {
			_, err := m.FollowUp(ctx, FollowUpRequest{Action: Send, AttemptID: id, Prompt: "go on"})
			return err
		},
		"FollowUp cancel": func(id string) error {
			_, err := m.FollowUp(ctx, FollowUpRequest{Action: Cancel, SessionID: id})
			return err
		},
	} {
		refused(t, name+" of an unknown id", call(nobody), NotFound)
		refused(t, name+" of abc", call("abc"), InvalidArgument)
		refused(t, name+" of a long id", call(strings.Repeat("a\x00", 10_000)), InvalidArgument)
		if name != "Messages" && name != "FollowUp" && name != "FollowUp cancel" {
			refused(t, name+" without an id", call(""), MissingRequired)
		}
	}
}

// TestTasksAreMadeChangedAndListed: T-019 to T-022, T-032, T-033.
func TestTasksAreMadeChangedAndListed(t *testing.T) {
	m := peer(t, t.TempDir(), Options{})
	ctx := t.Context()
	p, _ := project(t, m, Repo{})
	made := []Task{}
	for _, title := range []string{"one", "two", "three"} {
		made = append(made, task(t, m, p.ID, "  "+title+" "))
	}
	changed, err := m.UpdateTask(ctx, made[1].ID, TaskChange{Status: pointer(Done)})
	if err != nil || changed.Status != Done || changed.Title != "two" {
		t.Errorf("UpdateTask = %+v, %v; want two with status done", changed, err)
	}
	if read, err := m.Task(ctx, made[1].ID); err != nil || read != changed {
		t.Errorf("Task = %+v, %v; want %+v", read, err, changed)
	}
	for name, change := range map[string]TaskChange{
		"status nope":  {Status: pointer(Status("nope"))},
		"a NUL":        {Description: pointer("a\x00b")},
		"no UTF-8":     {Title: pointer("a\xffb")},
		"a long title": {Title: pointer(strings.Repeat("a", 2000))},
	} {
		_, err := m.UpdateTask(ctx, made[1].ID, change)
		refused(t, "UpdateTask with "+name, err, InvalidArgument)
	}
	_, err = m.UpdateTask(ctx, made[1].ID, TaskChange{Title: pointer("  ")})
	refused(t, "UpdateTask with a blank title", err, MissingRequired)
	_, err = m.Tasks(ctx, TaskQuery{ProjectID: p.ID, Status: "nope"})
	refused(t, "Tasks of an unknown status", err, InvalidArgument)
	_, err = m.Tasks(ctx, TaskQuery{ProjectID: p.ID, Page: Page{Cursor: "nope"}})
	refused(t, "Tasks with a broken cursor", err, InvalidArgument)

	titles := func(q TaskQuery) (titles []string) {
		t.Helper()
		q.ProjectID = p.ID
		for {
			page, err := m.Tasks(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range page.Tasks {
				titles = append(titles, found.Title)
			}
			if q.Cursor = page.Next; page.Next == "" {
				slices.Sort(titles)
				return titles
			}
		}
	}
	if got, want := titles(TaskQuery{Page: Page{Limit: 1}}), []string{"one", "three", "two"}; !slices.Equal(got, want) {
		t.Errorf("Tasks one by one = %q, want %q", got, want)
	}
	if got, want := titles(TaskQuery{Status: Done}), []string{"two"}; !slices.Equal(got, want) {
		t.Errorf("Tasks that are done = %q, want %q", got, want)
	}
	if got := titles(TaskQuery{Since: time.Now().Add(time.Hour)}); len(got) > 0 {
		t.Errorf("Tasks that will be changed in an hour = %q, want none", got)
	}
	if err := m.DeleteTask(ctx, made[0].ID); err != nil {
		t.Errorf("DeleteTask = %v", err)
	}
	if got, want := titles(TaskQuery{Page: Page{Limit: -1}}), []string{"three", "two"}; !slices.Equal(got, want) {
		t.Errorf("Tasks after one was deleted = %q, want %q", got, want)
	}
	refused(t, "DeleteTask again", m.DeleteTask(ctx, made[0].ID), NotFound)
}

func TestIDsAreFoundByTheirBeginning(t *testing.T) {
	m := peer(t, t.TempDir(), Options{})
	ctx := t.Context()
	p, _ := project(t, m, Repo{})
	a, b := task(t, m, p.ID, "a"), task(t, m, p.ID, "b")
	if got, err := m.Find(ctx, KindTask, strings.ToUpper(a.ID)); err != nil || got != a.ID {
		t.Errorf("Find of a whole id = %q, %v; want %q", got, err, a.ID)
	}
	_, err := m.Find(ctx, KindTask, a.ID[:2])
	refused(t, "Find of a beginning that two have", err, AmbiguousID)
	if _, err := m.Find(ctx, KindTask, "zz"); code(err) != NotFound {
		t.Errorf("Find(zz) = %v, want %s", err, NotFound)
	}
	if got, err := m.Find(ctx, KindProject, "desk"); err != nil || got != p.ID {
		t.Errorf("Find of a project's name = %q, %v; want %q", got, err, p.ID)
	}
	if got, err := m.IDs(ctx, KindTask, ""); err != nil || len(got) != 2 || !slices.Contains(got, Named{b.ID, "b"}) {
		t.Errorf("IDs = %v, %v; want both tasks", got, err)
	}
}

// FuzzCursors checks that every cursor is either valid or rejected.
func FuzzCursors(f *testing.F) {
	m := peer(f, f.TempDir(), Options{})
	p, _ := project(f, m, Repo{})
	made := task(f, m, p.ID, "x")
	for _, seed := range []string{"", "x", ".", "1." + made.ID, "-9223372036854775808." + made.ID, "99999999999999999999." + made.ID, "ZGVzaw", "\x00", "1.\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		if _, err := m.Tasks(t.Context(), TaskQuery{ProjectID: p.ID, Page: Page{Cursor: cursor}}); err != nil && code(err) != InvalidArgument {
			t.Errorf("Tasks with cursor %q = %v", cursor, err)
		}
		if _, err := m.Projects(t.Context(), Page{Cursor: cursor}); err != nil && code(err) != InvalidArgument {
			t.Errorf("Projects with cursor %q = %v", cursor, err)
		}
		if _, err := m.Find(t.Context(), KindTask, cursor); err != nil && code(err) != NotFound && code(err) != AmbiguousID {
			t.Errorf("Find(%q) = %v", cursor, err)
		}
	})
}
