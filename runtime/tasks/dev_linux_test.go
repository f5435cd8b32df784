package tasks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/waittest"
	"golang.org/x/sys/unix"
)

// A dev server runs what an agent may have written: it is in the agent's sandbox.
func TestADevServerIsInTheSandbox(t *testing.T) {
	for _, mode := range []box.Mode{box.Bwrap, box.Landlock} {
		t.Run(string(mode), func(t *testing.T) {
			needsBox(t, mode)
			d := open(t, Repo{}, settings{Lease: time.Minute, Sandbox: mode})
			secret := filepath.Join(d.repo.Path, "a.txt") // the person's checkout
			if _, err := d.SetRepo(t.Context(), d.project.ID, "", RepoChange{DevServer: pointer("cat " + secret + "; echo x > " + d.repo.Path + "/evil; echo mine > out; echo port $PORT; echo attempt $DESKHAND_ATTEMPT_ID.")}); err != nil {
				t.Fatal(err)
			}
			write(t, secret, "the person's")
			s := d.ended(d.start("write b.txt one").AttemptID)
			dev, done, err := d.StartDevServer(t.Context(), s.ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			<-done
			text, err := d.DevLog(s.ID, 50)
			if err != nil || strings.Contains(text, "the person's") || !strings.Contains(text, "port ") || !strings.Contains(text, "attempt "+s.ID+".") || exists(filepath.Join(d.repo.Path, "evil")) {
				t.Errorf("%+v printed:\n%s\n%v", dev, text, err)
			}
			if out, err := os.ReadFile(filepath.Join(s.Dir, d.repo.Name, "out")); err != nil || string(out) != "mine\n" {
				t.Errorf("it cannot write its own folder: %q, %v; it printed:\n%s", out, err, text)
			}
			if _, err := d.Confine(t.Context(), d.project.ID, nil, []string{box.NetworkOff}); err != nil {
				t.Fatal(err)
			}
			_, _, err = d.StartDevServer(t.Context(), s.ID, nil)
			refused(t, "a dev server that no browser can reach", err, SandboxUnavailable)
		})
	}
}

// What a dev server starts in a session of its own ends with it.
func TestADevServerLeavesNothingBehind(t *testing.T) {
	d := open(t, Repo{DevServer: "setsid sleep 600 & echo $! > ../child; wait"}, settings{})
	s := d.ended(d.start("write a.txt one").AttemptID)
	if _, _, err := d.StartDevServer(t.Context(), s.ID, nil); err != nil {
		t.Fatal(err)
	}
	pid := childOf(t, s.Dir)
	waittest.Until(t, "it has a session of its own", func() (bool, any) {
		sid, err := unix.Getsid(pid)
		return sid == pid, err
	})
	if _, err := d.StopDevServer(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	untilGone(t, pid)
}
