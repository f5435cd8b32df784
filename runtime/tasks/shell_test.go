package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/racetest"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// shell describes another shell with its own environment and settings.
type shell struct {
	Settings settings
	Requests []StartRequest
	env      []string
}

// inShell runs in another shell: it starts attempts, or only reads.
func inShell(ctx context.Context, db *store.DB, place, what, job string) error {
	var s shell
	if err := json.Unmarshal([]byte(job), &s); err != nil {
		return err
	}
	m := New(db, s.Settings.options(place))
	defer m.Close()
	if what == "visit" {
		return m.Sweep(ctx)
	}
	for _, r := range s.Requests {
		started, err := m.Start(ctx, r)
		if err != nil {
			return err
		}
		fmt.Println(started.AttemptID)
	}
	return nil
}

// in runs a job in another shell until it exits, and returns its output.
func (d *desk) in(s shell, what string) []string {
	d.t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command(racetest.Program())
	cmd.Env = append(slices.Clone(s.env), "TASKS_TEST_CHILD="+strings.Join([]string{d.place, what, string(data)}, "\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%s in another shell = %v", what, err)
	}
	return strings.Fields(string(out))
}

// begin starts attempts in another shell.
func (d *desk) begin(s shell, scripts ...string) []string {
	d.t.Helper()
	s.Requests = nil
	for _, script := range scripts {
		s.Requests = append(s.Requests, d.request(task(d.t, d.Manager, d.project.ID, "Do it well").ID, script))
	}
	ids := d.in(s, "begin")
	if len(ids) != len(scripts) {
		d.t.Fatalf("%d attempts began, want %d", len(ids), len(scripts))
	}
	return ids
}

// most returns the maximum number of processes of attempts that were running at the
// same time.
func (d *desk) most(attempts []string) (most int) {
	d.t.Helper()
	var all []Process
	for _, id := range attempts {
		found, err := d.Processes(context.Background(), id)
		if err != nil {
			d.t.Fatal(err)
		}
		all = append(all, found...)
	}
	for _, p := range all {
		at := 0
		for _, o := range all {
			if !o.Started.IsZero() && !o.Started.After(p.Started) && o.Completed.After(p.Started) {
				at++
			}
		}
		most = max(most, at)
	}
	return most
}
