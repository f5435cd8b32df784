package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Away describes work whose folder is on another machine: what is seen of it here are the
// commits that the machine has shared.
type Away struct {
	Machine string
	At      time.Time // when they were shared
	Failure string    // why newer ones were not; empty if there are none
}

// String describes what is seen, for people.
func (a Away) String() string {
	text := fmt.Sprintf("on %s; what is seen here was committed there by %s UTC", a.Machine, a.At.Format("2006-01-02 15:04:05"))
	if a.Failure != "" {
		text += ", and newer commits are not shared: " + a.Failure
	}
	return text
}

// reachable is like checkoutOf. If the attempt's folder is on another machine, the checkout
// has the commits that the machine has shared, and no files. It first fetches them into this
// machine's own copy of the repository, and clones that if necessary.
func (m *Manager) reachable(ctx context.Context, attemptID string) (checkout, error) {
	return m.reach(ctx, attemptID, true)
}

// reach is like reachable. Without clone, it only uses repositories that are here.
func (m *Manager) reach(ctx context.Context, attemptID string, clone bool) (c checkout, err error) {
	if attemptID, err = parseID("attempt_id", attemptID); err != nil {
		return c, err
	}
	var found map[string]shared
	var seen hostInfo
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if c, err = readCheckout(ctx, tx, attemptID); err != nil || c.host == m.host {
			m.markClones(&c)
			return err
		}
		if seen, err = m.lookUpHost(ctx, tx, c.host); err != nil {
			return err
		}
		found, err = readShared(ctx, tx, attemptID)
		return err
	})
	if err != nil || c.host == m.host {
		return c, err
	}
	c.away = &Away{Machine: seen.name}
	for _, r := range c.repos {
		s := found[r.ID]
		if s.tip == "" {
			why := ""
			if s.failure != "" {
				why = ", and its commits are not shared: " + s.failure
			}
			return c, elsewhere(attemptID, seen.name, "the worktree of attempt %s is on %s%s", attemptID, seen.name, why)
		}
		if c.away.At.IsZero() || s.at.Before(c.away.At) {
			c.away.At = s.at
		}
		if s.failure != "" {
			c.away.Failure = s.failure
		}
	}
	lock, _ := m.fetching.LoadOrStore(attemptID, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	c.tree.Dir, c.tree.Stored = filepath.Join(m.attemptsDir(), filepath.Base(c.tree.Dir)), true
	for i, r := range c.repos {
		at, err := m.fetchRepo(ctx, c, r, found[r.ID], clone)
		if err != nil {
			return c, withAttempt(err, attemptID)
		}
		c.repos[i].Path, c.tree.Repos[i].Path = at.Path, at.Path
		c.tree.Repos[i].Ref = worktree.SharedRef(attemptID, r.ID)
	}
	m.markClones(&c)
	return c, nil
}

// markClones finds the repositories of a checkout that are clones of ours, which have no
// branches of a person.
func (m *Manager) markClones(c *checkout) {
	for i, r := range c.tree.Repos {
		c.tree.Repos[i].Cloned = filepath.Dir(r.Path) == filepath.Join(m.options.Dir, "clones")
	}
}

// fetchRepo makes sure that this machine has the shared commits of one repository, and
// returns where.
func (m *Manager) fetchRepo(ctx context.Context, c checkout, r Repo, s shared, clone bool) (at worktree.Repo, err error) {
	at = worktree.Repo{Name: r.Name}
	if at.Path, err = m.placeOf(ctx, r.ID); err != nil {
		return at, err
	}
	if at.Path == "" || !isFolder(at.Path) && !clone {
		return at, elsewhere(c.ID, c.away.Machine, "the worktree of attempt %s is on %s, and repository %s is not on this machine", c.ID, c.away.Machine, r.Name)
	}
	if !isFolder(at.Path) {
		if err := worktree.Clone(ctx, s.remote, at.Path); err != nil {
			return at, err
		}
	}
	ref := worktree.SharedRef(c.ID, r.ID)
	if at.Shared(ctx, ref) == s.tip {
		return at, nil
	}
	if s.way == ShareByRemote {
		return at, at.FetchShared(ctx, s.remote, s.tip, ref)
	}
	if err = m.fetchBundles(ctx, at, s, ref); !errors.Is(err, worktree.ErrLacking) {
		return at, err
	}
	if s.remote != "" {
		if err = at.Refresh(ctx, s.remote); err == nil {
			err = m.fetchBundles(ctx, at, s, ref)
		}
	}
	if errors.Is(err, worktree.ErrLacking) {
		return at, refuse(worktree.ObjectsMissing, "fetch them in "+at.Path, "repository %s here lacks commits on which attempt %s builds", r.Name, c.ID)
	}
	return at, err
}

// fetchBundles adds the bundles that the repository lacks.
func (m *Manager) fetchBundles(ctx context.Context, at worktree.Repo, s shared, ref string) error {
	if err := at.Mark(ctx, s.tip, ref); !errors.Is(err, worktree.ErrLacking) || len(s.bundles) == 0 {
		return err
	}
	first := 0
	for i, b := range s.bundles {
		if at.Shared(ctx, ref) == b.tip {
			first = i + 1
		}
	}
	for _, b := range s.bundles[first:] {
		if err := m.fetchBundle(ctx, at, b, ref); err != nil {
			return err
		}
	}
	if got := at.Shared(ctx, ref); got != s.tip {
		return fmt.Errorf("the bundles in the store end at %.12s and not at %.12s", got, s.tip)
	}
	return nil
}

func (m *Manager) fetchBundle(ctx context.Context, at worktree.Repo, b bundle, ref string) error {
	f, err := os.CreateTemp(m.options.Dir, ".bundle-")
	if err != nil {
		return fmt.Errorf("create a file for a bundle: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	sum := sha256.New()
	to, size := io.MultiWriter(f, sum), int64(0)
	for part := 0; size < b.size; part++ {
		var data string
		err := m.db.View(ctx, func(tx *store.Tx) error {
			return tx.QueryRow(ctx, "SELECT data FROM shared_chunks WHERE bundle_id = ? AND part = ?", b.id, part).Scan(&data)
		})
		if err != nil {
			return retryable(worktree.ShareRefused, "retry", "a part of the shared commits is not in the store: %v", err) // they may have been replaced
		}
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil || len(raw) == 0 {
			break
		}
		if size += int64(len(raw)); size > b.size {
			break
		}
		if _, err := to.Write(raw); err != nil {
			return fmt.Errorf("write a bundle: %w", err)
		}
	}
	if size != b.size || hex.EncodeToString(sum.Sum(nil)) != b.digest {
		return refuse(worktree.ShareRefused, "check the database", "the shared commits in the store are damaged: their digest differs")
	}
	return at.Receive(ctx, f.Name(), b.tip, ref)
}

// requireHere returns a fault if the attempt's folder is on another machine.
func (c checkout) requireHere() error {
	if c.away == nil {
		return nil
	}
	return elsewhere(c.ID, c.away.Machine, "the worktree of attempt %s is on %s", c.ID, c.away.Machine)
}

// requireWhole returns a fault if the attempt ran on another machine and has work there that
// is not on its branch, and therefore not shared.
func (c checkout) requireWhole() error {
	if c.away == nil {
		return nil
	}
	w := readWork(c.work)
	if w.State == OffBranch || c.away.Failure != "" {
		why := c.away.Failure
		if w.State == OffBranch {
			why = fmt.Sprint(w.Notes)
		}
		return elsewhere(c.ID, c.away.Machine, "attempt %s has work on %s that is not shared: %s", c.ID, c.away.Machine, why)
	}
	return nil
}

// requireBranches returns a fault if a repository has no branch to land on, because it is a
// clone of ours.
func (c checkout) requireBranches() error {
	for _, r := range c.tree.Repos {
		if r.Cloned {
			return refuse(worktree.NotCheckedOut, "land on a machine with a checkout of it that belongs to the project, or open a pull request",
				"this machine has only deskhand's own clone of %s, which has no branch of yours", r.Name)
		}
	}
	return nil
}

// reachedBefore is how long reachQuickly remembers that work cannot be fetched.
const reachedBefore = 30 * time.Second

// reachQuickly is like reachable, for a page that also does without: it clones nothing, and
// does not repeat what failed a moment ago.
func (m *Manager) reachQuickly(ctx context.Context, attemptID string) (checkout, error) {
	if failed, ok := m.unreached.Load(attemptID); ok && time.Since(failed.(time.Time)) < reachedBefore {
		return m.checkoutOf(ctx, attemptID)
	}
	c, err := m.reach(ctx, attemptID, false)
	if f := fault.Of(err); err != nil && ctx.Err() == nil && (f == nil || f.Case != OtherMachine) {
		m.unreached.Store(attemptID, time.Now())
	}
	return c, err
}

// shareNow shares an attempt's branches after they have changed outside a run.
func (m *Manager) shareNow(ctx context.Context, attemptID string) {
	c, err := m.checkoutOf(ctx, attemptID)
	if err != nil {
		m.options.Log.Warn("cannot share commits with other machines", "attempt_id", attemptID, "error", err)
		return
	}
	m.share(ctx, c)
}

// forgetShared removes what was shared of an attempt whose folder is removed.
func (m *Manager) forgetShared(ctx context.Context, c checkout) error {
	if m.host == "" {
		return nil
	}
	var refs map[string]remoteRef
	err := m.db.Update(ctx, func(tx *store.Tx) (err error) {
		if refs, err = remoteRefs(ctx, tx, c); err != nil {
			return err
		}
		return dropShared(ctx, tx, c.ID)
	})
	m.unshare(ctx, c.ID, c.tree, refs)
	return err
}

// noteAway adds to a status which machine has the work and what of it is seen here, or why
// other machines lack some of it.
func (m *Manager) noteAway(ctx context.Context, s *AttemptStatus) error {
	if m.host == "" {
		return nil
	}
	return m.db.View(ctx, func(tx *store.Tx) error {
		a, err := readAttempt(ctx, tx, s.ID)
		if err != nil || a.host == anyHost {
			return err
		}
		found, err := readShared(ctx, tx, s.ID)
		if err != nil {
			return err
		}
		seen, err := m.lookUpHost(ctx, tx, a.host)
		if err != nil {
			return err
		}
		for _, one := range found {
			away := Away{seen.name, one.at, one.failure}
			switch {
			case a.host == m.host && one.failure == "":
				continue
			case a.host == m.host:
				s.Work.Notes = append(s.Work.Notes, "other machines do not see the newest commits: "+one.failure)
			case one.tip == "":
				s.Work.Notes = append(s.Work.Notes, "on "+seen.name+", and not shared: "+one.failure)
			default:
				s.Work.Notes = append(s.Work.Notes, away.String())
			}
			return nil // the other repositories are shared together with this one
		}
		return nil
	})
}

// onHere names this machine in the audit log, if several machines share the store.
func (m *Manager) onHere() string {
	if m.host == "" {
		return ""
	}
	name, _ := os.Hostname()
	return "on " + name
}

// landedHere is the state of work that has landed on this machine.
func (m *Manager) landedHere() *Work {
	w := &Work{State: LandedWork}
	if on := m.onHere(); on != "" {
		w.Notes = []string{"landed " + on}
	}
	return w
}

// landedElsewhere returns the fault for undoing a landing of another machine.
func (m *Manager) landedElsewhere(ctx context.Context, c checkout) error {
	var seen hostInfo
	err := m.db.View(ctx, func(tx *store.Tx) (err error) {
		seen, err = m.lookUpHost(ctx, tx, c.landed.host)
		return err
	})
	if err != nil {
		return err
	}
	return elsewhere(c.ID, seen.name, "attempt %s was landed on %s, which has the branches", c.ID, seen.name)
}

// refuseLandedElsewhere returns a fault if another machine has landed the same commits.
func (m *Manager) refuseLandedElsewhere(ctx context.Context, c checkout) error {
	if c.landed == nil || c.landed.State != LandingDone || c.landed.host == m.host {
		return nil
	}
	for _, r := range c.tree.Repos {
		if tip, err := c.tree.Tip(ctx, r); err != nil || c.landed.Heads[r.Name] != tip {
			return nil
		}
	}
	err := m.landedElsewhere(ctx, c)
	if f := fault.Of(err); f != nil {
		return refuse(worktree.NothingToLand, "pull its branch from there, or from their remote", "%s", f.Message)
	}
	return err
}
