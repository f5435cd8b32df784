package tasks_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

func TestAddAgainKeepsWhatItDoesNotName(t *testing.T) {
	m := peer(t, t.TempDir(), Options{MaxRunning: -1})
	ctx := t.Context()
	path := gitRepo(t)
	git(t, path, "branch", "feature")
	p, first := project(t, m, Repo{Path: path, Name: "app", TargetBranch: "feature", Setup: "make", Cleanup: "make clean", CopyFiles: []string{".env"}})
	for name, again := range map[string]Repo{"by name": {Path: path, Name: "app"}, "by path": {Path: path}} {
		_, r, err := m.AddRepo(ctx, "desk", again)
		if err != nil || r.ID != first.ID || r.Name != "app" || r.TargetBranch != "feature" || r.Setup != "make" || r.Cleanup != "make clean" || !slices.Equal(r.CopyFiles, []string{".env"}) {
			t.Errorf("AddRepo again %s = %+v, %v; want it as it was", name, r, err)
		}
	}
	if _, r, err := m.AddRepo(ctx, "desk", Repo{Path: path, Setup: "make all"}); err != nil || r.Setup != "make all" || r.Cleanup != "make clean" {
		t.Errorf("AddRepo with one script = %+v, %v", r, err)
	}
	r, err := m.SetRepo(ctx, p.ID, "", RepoChange{Setup: pointer(""), CopyFiles: &[]string{}, TargetBranch: pointer("main")})
	if err != nil || r.Setup != "" || r.Cleanup != "make clean" || len(r.CopyFiles) != 0 || r.TargetBranch != "main" {
		t.Errorf("SetRepo = %+v, %v", r, err)
	}
	_, err = m.SetRepo(ctx, p.ID, "nope", RepoChange{})
	refused(t, "SetRepo of an unknown repository", err, NotFound)
	_, err = m.SetRepo(ctx, p.ID, "app", RepoChange{TargetBranch: pointer("nope")})
	if code(err) != NotFound {
		t.Errorf("SetRepo with a branch that is not there = %v", err)
	}
	_, err = m.SetRepo(ctx, p.ID, "app", RepoChange{Path: pointer(gitRepo(t, "other.txt"))})
	refused(t, "SetRepo with the path of another repository", err, RepositoryConflict)
	if repos, err := m.Repos(ctx, p.ID); err != nil || len(repos) != 1 || repos[0].Path != path {
		t.Errorf("Repos = %+v, %v", repos, err)
	}
}

// A moved repository is found by its first commit, with its attempts.
func TestAMovedRepositoryIsFoundAgain(t *testing.T) {
	for name, again := range map[string]func(d *desk, path string) (Repo, error){
		"add by name": func(d *desk, path string) (Repo, error) {
			_, r, err := d.AddRepo(t.Context(), "desk", Repo{Path: path, Name: "app"})
			return r, err
		},
		"add under another folder's name": func(d *desk, path string) (Repo, error) {
			_, r, err := d.AddRepo(t.Context(), "desk", Repo{Path: path})
			return r, err
		},
		"set": func(d *desk, path string) (Repo, error) {
			return d.SetRepo(t.Context(), d.project.ID, "app", RepoChange{Path: &path})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, Repo{Path: gitRepo(t), Name: "app", Setup: "true"}, settings{})
			ctx := t.Context()
			started := d.start("write a.txt one")
			s := d.ended(started.AttemptID)
			to := filepath.Join(t.TempDir(), "elsewhere")
			if err := os.Rename(d.repo.Path, to); err != nil {
				t.Fatal(err)
			}
			made := task(t, d.Manager, d.project.ID, "x")
			_, err := d.Start(ctx, d.request(made.ID, "say x"))
			refused(t, "Start with a repository that was moved", err, NotFound)
			other := gitRepo(t, "other.txt")
			_, _, err = d.AddRepo(ctx, "desk", Repo{Path: other, Name: "app"})
			refused(t, "AddRepo of another repository by the name of one that is gone", err, RepositoryConflict)
			r, err := again(d, to)
			if real, _ := filepath.EvalSymlinks(to); err != nil || r.ID != d.repo.ID || r.Path != real || r.Setup != "true" || r.Name != "app" {
				t.Fatalf("the repository is %+v, %v; want it as it was, at %s", r, err, to)
			}
			if repos, err := d.Repos(ctx, d.project.ID); err != nil || len(repos) != 1 {
				t.Errorf("Repos = %+v, %v; want one", repos, err)
			}
			if c, err := d.Changes(ctx, started.AttemptID, false); err != nil || c.Count != 1 {
				t.Errorf("Changes of an old attempt = %+v, %v", c, err)
			}
			if _, err := d.FollowUp(ctx, FollowUpRequest{Action: Send, AttemptID: started.AttemptID, Prompt: "write b.txt two"}); err != nil {
				t.Fatal(err)
			}
			if s := d.ended(started.AttemptID); s.State != Completed || s.Work.State != OnBranch {
				t.Errorf("a follow-up ended as %+v", s)
			}
			if report, err := d.GC(ctx, GC{AttemptID: started.AttemptID}); err != nil || !report.Worktrees[0].Removed || exists(s.Dir) {
				t.Errorf("GC = %+v, %v", report, err)
			}
		})
	}
}

func TestProjectsAreRenamedAndRemoved(t *testing.T) {
	d := open(t, Repo{Name: "app"}, settings{})
	ctx := t.Context()
	started := d.start("write a.txt one")
	d.ended(started.AttemptID)
	refused(t, "RemoveProject with a task", d.RemoveProject(ctx, d.project.ID), ProjectInUse)
	if r, err := d.RemoveRepo(ctx, d.project.ID, "app"); err != nil || r.ID != d.repo.ID {
		t.Errorf("RemoveRepo = %+v, %v", r, err)
	}
	if repos, err := d.Repos(ctx, d.project.ID); err != nil || len(repos) != 0 {
		t.Errorf("Repos = %+v, %v; want none", repos, err)
	}
	_, err := d.RemoveRepo(ctx, d.project.ID, "app")
	refused(t, "RemoveRepo again", err, NotFound)
	made := task(t, d.Manager, d.project.ID, "x")
	_, err = d.Start(ctx, d.request(made.ID, "say x"))
	refused(t, "Start with a repository that was taken out", err, NotFound)
	if c, err := d.Changes(ctx, started.AttemptID, false); err != nil || c.Count != 1 {
		t.Errorf("Changes of an old attempt = %+v, %v", c, err)
	}
	if _, r, err := d.AddRepo(ctx, "desk", Repo{Path: gitRepo(t, "new.txt"), Name: "app"}); err != nil || r.ID == d.repo.ID {
		t.Errorf("AddRepo of another one by that name = %+v, %v", r, err)
	}
	if _, _, err := d.AddRepo(ctx, "taken", Repo{Path: d.repo.Path}); err != nil {
		t.Fatal(err)
	}
	_, err = d.RenameProject(ctx, d.project.ID, "taken")
	refused(t, "RenameProject to a name that is taken", err, RepositoryConflict)
	if p, err := d.RenameProject(ctx, d.project.ID, "shop"); err != nil || p.Name != "shop" || p.ID != d.project.ID {
		t.Errorf("RenameProject = %+v, %v", p, err)
	}
	for _, id := range []string{made.ID, started.TaskID} {
		if err := d.DeleteTask(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.RemoveProject(ctx, d.project.ID); err != nil {
		t.Errorf("RemoveProject = %v", err)
	}
	_, err = d.Repos(ctx, d.project.ID)
	refused(t, "Repos of a project that is gone", err, NotFound)
	d.project, err = func() (Project, error) { p, err := d.Projects(ctx, Page{}); return p.Projects[0], err }()
	if err != nil {
		t.Error(err)
	}
}
