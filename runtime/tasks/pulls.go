package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// PullQuery specifies how to open a pull request.
type PullQuery struct {
	AttemptID   string
	Draft       bool
	Title, Body string // if empty, the task's title and the agent's last message
	Into        string // branch to merge into; if empty, the attempt's target
	Remote      string // if empty, origin
	// Secrets, DryRun, Save and Plan are as in [LandRequest].
	Secrets      Allowance
	DryRun, Save bool
	Plan         string
}

// PullRequest is the pull request of an attempt in one repository.
type PullRequest struct {
	AttemptID string `json:"-"`
	Repo      string `json:"-"`
	// Remote is the address of the remote repository, without a password.
	Remote       string      `json:"remote"`
	Place        forge.Place `json:"place"`
	Branch       string      `json:"branch"`
	Target       string      `json:"target"`
	Title        string      `json:"title"`
	Head         string      `json:"head"` // the last pushed commit
	Pull         forge.Pull  `json:"pull"` // zero if not opened yet
	body, remote string
}

// Pulled is the result of [Manager.OpenPull].
type Pulled struct {
	AttemptID, Branch string
	Requests          []PullRequest
	Body              string
	Secrets           []string // findings that look like secrets, if they were allowed
	Plan              string
}

// OpenPull pushes an attempt's branch and opens a pull request, in each
// repository where the attempt has commits that its target lacks. It first
// commits the attempt's uncommitted work. A second call pushes the new commits. After a
// pull request was closed without a merge, it opens another one only for new commits.
// Afterwards, the task is in review. Faults: those of [Manager.Land] except
// conflicts, remote_missing, push_refused and those of [forge.Client.Open].
func (m *Manager) OpenPull(ctx context.Context, q PullQuery) (done Pulled, err error) {
	err = m.withEndedAttempt(ctx, q.AttemptID, savingOf(q.DryRun && !q.Save), q.Secrets.All, func(c checkout) error {
		if err := c.requireWhole(); err != nil {
			return err
		}
		if done, err = m.planPull(ctx, c, q); err != nil {
			return err
		}
		if q.Plan != "" && q.Plan != done.Plan {
			return planChanged()
		}
		if q.DryRun {
			return nil
		}
		for _, pr := range done.Requests {
			if err := m.forge().Ready(ctx, pr.Place); err != nil {
				return withAttempt(err, c.ID) // checked before the first push
			}
		}
		if err := c.tree.KeepModules(ctx); err != nil {
			return err
		}
		for i := range done.Requests {
			if err := m.openPull(ctx, c, &done.Requests[i], q.Draft); err != nil {
				if f := fault.Of(err); f != nil {
					err = f.WithCase(f.Case, "attempt", c.ID, "remote", cmp.Or(q.Remote, "origin"))
				}
				return err
			}
		}
		return m.db.Update(ctx, func(tx *store.Tx) error {
			t, err := readTask(ctx, tx, c.TaskID)
			if err != nil {
				return err
			}
			return moveTask(ctx, tx, t, InReview, InProgress, Todo)
		})
	})
	return done, err
}

// planPull determines which branches to push and which pull requests to open.
func (m *Manager) planPull(ctx context.Context, c checkout, q PullQuery) (done Pulled, err error) {
	done = Pulled{AttemptID: c.ID, Branch: c.attempt.Branch}
	distances, err := c.tree.Distances(ctx, q.Into)
	if err != nil {
		return done, err
	}
	t, summary, agent, err := m.spoken(ctx, c)
	if err != nil {
		return done, err
	}
	p, err := m.project(ctx, t.ProjectID)
	if err != nil {
		return done, err
	}
	before, err := m.Pulls(ctx, c.ID)
	if err != nil {
		return done, err
	}
	title := cmp.Or(strings.TrimSpace(q.Title), t.Title)
	done.Body = cmp.Or(strings.TrimSpace(q.Body), strings.TrimSpace(CommitMessage{Summary: summary, Agent: agent, Template: "{summary}\n\n{coauthor}"}.String()))
	var moves []worktree.Move
	closed := ""
	for i, d := range distances {
		if d.Ahead == 0 {
			continue
		}
		r := c.tree.Repos[i]
		address, remote, err := c.tree.Remote(ctx, r, cmp.Or(q.Remote, "origin"))
		if err != nil {
			return done, err
		}
		place, err := forge.PlaceOf(address, p.Forge, p.ForgeURL)
		if err != nil {
			if f := fault.Of(err); f != nil {
				err = f.WithCase(f.Case, "project", p.Name)
			}
			return done, withAttempt(err, c.ID)
		}
		pr := PullRequest{AttemptID: c.ID, Repo: r.Name, Remote: forge.Shown(remote), Place: place, Branch: done.Branch, Target: d.Target, Title: title, Head: d.Head, body: done.Body, remote: remote}
		if n := slices.IndexFunc(before, func(b PullRequest) bool { return b.Repo == r.Name }); n >= 0 {
			switch was := before[n]; {
			case was.Pull.State == forge.Open:
				pr.Pull = was.Pull
			case was.Pull.State == forge.Closed && was.Head == d.Head:
				closed = was.Pull.URL
				continue
			}
		}
		done.Requests = append(done.Requests, pr)
		moves = append(moves, worktree.Move{Name: r.Name, Path: r.Path, Branch: d.Target, Before: d.Tip, After: d.Head})
		done.Plan += fmt.Sprint(r.Name, " ", remote, " ", d.Target, " ", d.Head, " ")
	}
	if len(done.Requests) == 0 && closed != "" {
		return done, refuse(worktree.NothingToLand, "reopen it on the forge, or have the agent change something first",
			"pull request %s was closed, and the attempt has no new commits", closed).WithCase(PullClosed)
	}
	if len(done.Requests) == 0 {
		return done, fault.New(worktree.NothingToLand, fmt.Sprintf("%s already contains all of %s", distances[0].Target, done.Branch), "check what the attempt has changed")
	}
	done.Plan = tokenDigest(done.Plan + title + " " + done.Body)
	done.Secrets, err = m.checkSecrets(ctx, c, moves, q.Secrets)
	return done, err
}

// openPull pushes one repository's branch and opens its pull request, unless
// one is already open. It stores the pushed commit before it opens the pull
// request. The next push may therefore replace that commit.
func (m *Manager) openPull(ctx context.Context, c checkout, pr *PullRequest, draft bool) error {
	i := slices.IndexFunc(c.tree.Repos, func(r worktree.Repo) bool { return r.Name == pr.Repo })
	before := ""
	earlier, err := m.Pulls(ctx, c.ID)
	if err != nil {
		return err
	}
	for _, e := range earlier {
		if e.Repo == pr.Repo && e.Remote == pr.Remote {
			before = e.Head
		}
	}
	if err := c.tree.Push(ctx, c.tree.Repos[i], pr.remote, pr.Head, before); err != nil {
		return err
	}
	pushed := store.Record{Action: "attempt.pushed", Object: c.ID, Detail: pr.Branch + " to " + pr.Remote}
	if err := m.writePull(ctx, *pr, pushed); err != nil {
		return err
	}
	if pr.Pull.Number == 0 {
		client := m.forge()
		if pr.Pull, err = client.Open(ctx, pr.Place, forge.Request{Branch: pr.Branch, Target: pr.Target, Title: pr.Title, Body: pr.body, Draft: draft}); err != nil {
			return err
		}
	}
	return m.writePull(ctx, *pr)
}

func (m *Manager) writePull(ctx context.Context, pr PullRequest, records ...store.Record) error {
	data, err := json.Marshal(pr)
	if err != nil {
		return fmt.Errorf("encode pull request: %w", err)
	}
	watched := pr.Pull.State
	if watched == forge.Merged { // until mergedThere has noted it
		watched = forge.Open
	}
	return m.db.Update(ctx, func(tx *store.Tx) error {
		a, err := readAttempt(ctx, tx, pr.AttemptID)
		if err != nil {
			return err
		}
		t, err := readTask(ctx, tx, a.TaskID)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO pulls (attempt_id, repo, host, state, data, looked_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (attempt_id, repo) DO UPDATE SET state = excluded.state, data = excluded.data, looked_at = excluded.looked_at`,
			pr.AttemptID, pr.Repo, m.host, string(watched), string(data), millis(tx.Now), millis(tx.Now))
		if err != nil {
			return fmt.Errorf("write pull request: %w", err)
		}
		for _, r := range records {
			if err := tx.Audit(r); err != nil {
				return err
			}
		}
		_, err = note(tx, Event{Type: TaskUpdated, ProjectID: t.ProjectID, TaskID: t.ID, AttemptID: a.ID})
		return err
	})
}

const pullColumns = "attempt_id, repo, data"

func scanPull(row scanner) (pr PullRequest, err error) {
	var attempt, repo, data string
	if err = row.Scan(&attempt, &repo, &data); err != nil {
		return pr, err
	}
	err = json.Unmarshal([]byte(data), &pr)
	pr.AttemptID, pr.Repo = attempt, repo
	return pr, err
}

// Pulls returns an attempt's pull requests, as they were when last read.
func (m *Manager) Pulls(ctx context.Context, attemptID string) (found []PullRequest, err error) {
	if attemptID, err = parseID("attempt_id", attemptID); err != nil {
		return nil, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		if err := withinAttempt(ctx, tx, attemptID, "attempt_id", attemptID); err != nil {
			return err
		}
		found, err = all(ctx, tx, scanPull, "SELECT "+pullColumns+" FROM pulls WHERE attempt_id = ? ORDER BY repo", attemptID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read pull requests: %w", err)
	}
	return found, nil
}

// maxForges is the number of forges that are asked at the same time.
const maxForges = 8

// LookAtPulls asks the forges about the open pull requests of this machine
// that were not asked about for the given duration, and updates their state.
// attemptID selects one attempt's pull requests, also closed ones, which may have been
// reopened; if it is empty, LookAtPulls updates the open ones of all attempts. If all pull requests of an attempt are merged,
// the attempt counts as landed, and its task as done. A forge that does not
// answer holds up only its own pull requests.
func (m *Manager) LookAtPulls(ctx context.Context, attemptID string, older time.Duration) error {
	var open []PullRequest
	err := m.db.View(ctx, func(tx *store.Tx) (err error) {
		open, err = all(ctx, tx, scanPull, "SELECT "+pullColumns+" FROM pulls WHERE (state = ? OR state = ? AND attempt_id = ?) AND looked_at <= ? AND host = ? AND (? = '' OR attempt_id = ?) ORDER BY looked_at LIMIT 100",
			string(forge.Open), string(forge.Closed), attemptID, millis(tx.Now.Add(-older)), m.host, attemptID, attemptID)
		return err
	})
	if err != nil {
		return fmt.Errorf("read pull requests: %w", err)
	}
	byForge := map[string][]PullRequest{}
	for _, pr := range open {
		byForge[pr.Place.API] = append(byForge[pr.Place.API], pr)
	}
	var asking sync.WaitGroup
	slots, problems := make(chan struct{}, maxForges), make(chan error, len(byForge))
	for _, pulls := range byForge {
		asking.Go(func() {
			slots <- struct{}{}
			problems <- m.lookAtForge(ctx, pulls)
			<-slots
		})
	}
	asking.Wait()
	close(problems)
	for problem := range problems {
		err = errors.Join(err, problem)
	}
	return err
}

// lookAtForge asks one forge about pull requests. If it does not answer, lookAtForge asks
// about no more of them. The next call asks first about those that were asked about
// longest ago, whether the forge has answered or not.
func (m *Manager) lookAtForge(ctx context.Context, pulls []PullRequest) error {
	client := m.forge()
	var problems []error
	for i, pr := range pulls {
		now, err := client.Look(ctx, pr.Place, pr.Pull)
		if err != nil {
			problems = append(problems, fmt.Errorf("read the state of %s: %w", pr.Pull.URL, err))
			failed := pulls[i : i+1]
			if f := fault.Of(err); f == nil || f.Retryable {
				failed = pulls[i:]
			}
			if err := m.askedAbout(ctx, failed); err != nil || len(failed) > 1 {
				return errors.Join(append(problems, err)...)
			}
			continue
		}
		pr.Pull = now
		if err := m.writePull(ctx, pr); err != nil {
			problems = append(problems, err)
			continue
		}
		if now.State == forge.Merged {
			problems = append(problems, m.mergedThere(ctx, pr.AttemptID))
		}
	}
	return errors.Join(problems...)
}

// askedAbout stores that a forge was asked about pull requests, without an answer.
func (m *Manager) askedAbout(ctx context.Context, pulls []PullRequest) error {
	return m.db.UpdateFast(ctx, func(tx *store.Tx) error {
		for _, pr := range pulls {
			if _, err := tx.Exec(ctx, "UPDATE pulls SET looked_at = ? WHERE attempt_id = ? AND repo = ?", millis(tx.Now), pr.AttemptID, pr.Repo); err != nil {
				return fmt.Errorf("write pull request: %w", err)
			}
		}
		return nil
	})
}

// mergedThere checks whether all pull requests of an attempt are merged. If
// they are, it marks the attempt as landed and its task as done, unless the
// branch has later commits. While the agent runs, it waits for a later call.
func (m *Manager) mergedThere(ctx context.Context, attemptID string) error {
	pulls, err := m.Pulls(ctx, attemptID)
	if err != nil || slices.ContainsFunc(pulls, func(pr PullRequest) bool { return pr.Pull.State != forge.Merged }) {
		return err
	}
	later := m.builtOn(ctx, attemptID, pulls)
	return m.db.Update(ctx, func(tx *store.Tx) error {
		a, err := readAttempt(ctx, tx, attemptID)
		if fault.Of(err) != nil {
			return nil // deleted in the meantime
		}
		if err != nil {
			return err
		}
		t, err := readTask(ctx, tx, a.TaskID)
		if err != nil {
			return err
		}
		p, err := latestProcess(ctx, tx, attemptID)
		if err != nil || p != nil && !p.State.Ended() {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE pulls SET state = ? WHERE attempt_id = ?", string(forge.Merged), a.ID); err != nil {
			return fmt.Errorf("write pull requests: %w", err)
		}
		if later {
			return nil
		}
		if err := writeWork(ctx, tx, a.ID, &Work{State: LandedWork}); err != nil {
			return err
		}
		return moveTask(ctx, tx, t, Done, InReview, InProgress, Todo)
	})
}

// builtOn reports whether an attempt's branch has commits that were not pushed to its
// pull requests.
func (m *Manager) builtOn(ctx context.Context, attemptID string, pulls []PullRequest) bool {
	c, err := m.reachQuickly(ctx, attemptID)
	if err != nil {
		return false // its branch is gone
	}
	return slices.ContainsFunc(c.tree.Repos, func(r worktree.Repo) bool {
		i := slices.IndexFunc(pulls, func(pr PullRequest) bool { return pr.Repo == r.Name })
		if i < 0 {
			return false
		}
		tip, err := c.tree.Tip(ctx, r)
		return err == nil && pulls[i].Head != "" && tip != pulls[i].Head
	})
}

// forge returns a client for forges.
func (m *Manager) forge() *forge.Client {
	return &forge.Client{Token: m.ForgeToken}
}

// hostsOfTokens lists the hosts that may receive tokens from environment
// variables. Other hosts may not, because a remote can name any host, and an
// agent can change the remote.
var hostsOfTokens = []string{"github.com", "gitlab.com", "codeberg.org", "gitea.com"}

// ForgeToken returns the token for a forge, or "" if there is none: from an environment
// variable, if the host is well-known or a person has configured it, from the store, or
// from the user's credential helpers.
func (m *Manager) ForgeToken(ctx context.Context, p forge.Place) (string, error) {
	var names []string
	switch {
	case p.Own, slices.Contains(hostsOfTokens, p.Host):
		names = forge.TokenNames[p.Kind]
	case p.Kind == forge.GitHub && p.Host == os.Getenv("GH_HOST"):
		names = []string{"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"}
	}
	for _, name := range names {
		if token := os.Getenv(name); token != "" {
			return token, nil
		}
	}
	if m.options.ForgeToken != nil {
		if token, err := m.options.ForgeToken(ctx, p.TokenHost()); err != nil || token != "" {
			return token, err
		}
	}
	if p.Host == "" {
		return "", nil
	}
	return worktree.Password(ctx, p.Host), nil
}

// Words describes the state of a pull request, for example "#7 open, draft, checks
// failing, approved".
func (pr PullRequest) Words() string {
	words := fmt.Sprintf("#%d %s", pr.Pull.Number, pr.Pull.State)
	if pr.Pull.State == forge.Open && pr.Pull.Draft {
		words += ", draft"
	}
	if pr.Pull.Checks != "" {
		words += ", checks " + pr.Pull.Checks
	}
	if pr.Pull.Review != "" {
		words += ", " + strings.ReplaceAll(pr.Pull.Review, "_", " ")
	}
	return words
}
