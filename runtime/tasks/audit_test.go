package tasks_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/forge/forgetest"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// audited returns the details of the audit log's records of an action.
func (d *desk) audited(action string) (details []string) {
	d.t.Helper()
	log, err := d.db.AuditLog(d.t.Context(), store.AuditFilter{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, r := range log {
		if r.Action == action {
			details = append(details, r.Detail)
		}
	}
	return details
}

func TestChangedCommandsAreAudited(t *testing.T) {
	d := open(t, Repo{}, settings{})
	for _, c := range []RepoChange{{Setup: pointer("make")}, {DevServer: pointer("make serve")}} {
		if _, err := d.SetRepo(t.Context(), d.project.ID, "", c); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := d.AddRepo(t.Context(), d.project.Name, Repo{Path: d.repo.Path, DevServer: "make evil"}); err != nil {
		t.Fatal(err)
	}
	got := d.audited("project.changed")
	for i, want := range []string{", its scripts", ", its dev server", ", its dev server"} {
		if at := len(got) - 3 + i; at < 0 || !strings.HasSuffix(got[at], want) {
			t.Fatalf("the log has %q; record %d must end with %q", got, at, want)
		}
	}
}

func TestAPushIsAudited(t *testing.T) {
	d := openAs(t, settings{})
	f, bare := forgetest.New(t), filepath.Join(t.TempDir(), "acme", "shop.git")
	if out, err := exec.Command("git", "clone", "-q", "--bare", d.repo.Path, bare).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v %s", err, out)
	}
	git(t, d.repo.Path, "remote", "add", "origin", bare)
	t.Setenv(forge.TokenNames[forge.Gitea][0], forgetest.Token)
	if _, err := d.SetLanding(t.Context(), d.project.ID, ProjectLanding{Forge: pointer(forge.Gitea), ForgeURL: pointer(f.URL + "/gitea")}); err != nil {
		t.Fatal(err)
	}
	s := d.ended(d.start("write a.txt one").AttemptID)
	if _, err := exec.LookPath("tea"); err == nil {
		t.Skip("tea would open the pull request")
	}
	if _, err := d.OpenPull(t.Context(), PullQuery{AttemptID: s.ID}); err != nil {
		t.Fatal(err)
	}
	if got := d.audited("attempt.pushed"); len(got) != 1 || !strings.HasPrefix(got[0], s.Branch+" to ") {
		t.Errorf("the log has %q", got)
	}
}
