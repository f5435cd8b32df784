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
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// If several machines share a store, the machine that runs an attempt shares the commits of
// the attempt's branch: as git bundles in the store, or as a ref of the remote. Another
// machine fetches them when somebody asks for the work there; see [Manager.reachable].

// ShareWay is how the machines of a store get the commits of a project's attempts.
type ShareWay string

// Ways to share. An empty way is ShareInStore.
const (
	ShareInStore  ShareWay = "store"  // as git bundles in the store
	ShareByRemote ShareWay = "remote" // as a ref of the repository's remote
	ShareNothing  ShareWay = "off"    // only the machine that ran an attempt has its work
)

// ShareWays lists all ways.
var ShareWays = []ShareWay{ShareInStore, ShareByRemote, ShareNothing}

// Limits of the bundles in the store.
const (
	maxBundles    = 16        // bundles that build on each other; the next one holds everything
	sharedChunk   = 768 << 10 // bytes of one row, which has a third more as base64
	recordTerm    = 10 * time.Second
	sharePause    = 5 * time.Second // between two looks at the branch of a running agent
	orphanedAfter = time.Hour       // age of chunks without a bundle
)

// shareTerm is how long sharing an attempt may take. Tests lower it.
var shareTerm = 2 * time.Minute

// maxShared is the maximum size in bytes of all bundles for one repository of an attempt.
// Tests lower it.
var maxShared = int64(64 << 20)

// shared is what was shared of one repository of an attempt.
type shared struct {
	repoID  string
	way     ShareWay
	tip     string // empty: nothing yet
	failure string // why newer commits are missing
	host    string
	at      time.Time
	bundles []bundle // of the way store
	remote  string   // of the repository
}

func (s shared) size() (n int64) {
	for _, b := range s.bundles {
		n += b.size
	}
	return n
}

// bundle is the row of a git bundle.
type bundle struct {
	id, tip, digest string
	ordinal, size   int64
}

func scanShared(row scanner) (s shared, err error) {
	var ms int64
	err = row.Scan(&s.repoID, &s.way, &s.tip, &s.failure, &s.host, &ms)
	s.at = at(ms)
	return s, err
}

// readShared returns what was shared of an attempt, by repository ID. The caller has read
// the attempt, and may therefore know of it.
func readShared(ctx context.Context, tx *store.Tx, attemptID string) (map[string]shared, error) {
	rows, err := all(ctx, tx, scanShared, "SELECT repo_id, way, tip, failure, host, shared_at FROM shared WHERE attempt_id = ?", attemptID)
	if err != nil {
		return nil, fmt.Errorf("read the shared commits: %w", err)
	}
	found := map[string]shared{}
	for _, s := range rows {
		s.bundles, err = all(ctx, tx, func(row scanner) (b bundle, err error) {
			return b, row.Scan(&b.id, &b.tip, &b.digest, &b.ordinal, &b.size)
		}, "SELECT id, tip, digest, ordinal, size FROM shared_bundles WHERE attempt_id = ? AND repo_id = ? ORDER BY ordinal", attemptID, s.repoID)
		if err == nil {
			err = tx.QueryRow(ctx, "SELECT remote FROM repos WHERE id = ?", s.repoID).Scan(&s.remote)
		}
		if err != nil {
			return nil, fmt.Errorf("read the shared commits: %w", err)
		}
		found[s.repoID] = s
	}
	return found, nil
}

// share makes the commits of an attempt's branches available to the other machines of the
// store. It returns why something is not shared, for people.
func (m *Manager) share(ctx context.Context, c checkout) (problems []string) {
	if m.host == "" || m.noHost != nil || c.host != m.host || !c.made() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shareTerm)
	defer cancel()
	var before map[string]shared
	var p Project
	remotes := map[string]string{}
	err := m.db.View(ctx, func(tx *store.Tx) error {
		t, err := readTask(ctx, tx, c.TaskID)
		if err == nil {
			p, err = readProject(ctx, tx, t.ProjectID)
		}
		if err == nil {
			before, err = readShared(ctx, tx, c.ID)
		}
		for _, r := range c.repos {
			remote := ""
			if err == nil {
				err = tx.QueryRow(ctx, "SELECT remote FROM repos WHERE id = ?", r.ID).Scan(&remote)
			}
			remotes[r.ID] = remote
		}
		return err
	})
	if err != nil {
		return []string{"the commits are not shared with other machines: " + err.Error()}
	}
	if p.Share == ShareNothing {
		if len(before) > 0 { // it would be taken for all of the work
			err = m.forgetShared(ctx, c)
		}
		if err != nil {
			return []string{"the commits that were shared with other machines are still there: " + err.Error()}
		}
		return nil
	}
	for i, r := range c.repos {
		old := before[r.ID]
		old.repoID, old.remote = r.ID, remotes[r.ID]
		way := p.Share
		if way == "" {
			way = ShareInStore
		}
		if why := m.shareRepo(ctx, c, i, old, way); why != "" {
			problems = append(problems, r.Name+" is not shared with other machines: "+why)
		}
	}
	return problems
}

// shareRepo shares the branch in one repository. It returns why it cannot.
func (m *Manager) shareRepo(ctx context.Context, c checkout, i int, old shared, way ShareWay) (why string) {
	r := c.tree.Repos[i]
	tip, err := c.tree.Tip(ctx, r)
	if err != nil {
		return "" // the branch was deleted: its work has landed, or is nowhere
	}
	if tip == old.tip && way == old.way && old.failure == "" {
		return ""
	}
	now := shared{repoID: old.repoID, way: way, tip: tip, host: m.host}
	if way == ShareByRemote {
		if old.remote == "" {
			err = errors.New("it has no remote origin; add one, or share the project's work in the store")
		} else {
			err = r.PushShared(ctx, old.remote, tip, worktree.SharedRef(c.ID, old.repoID))
		}
		if err == nil {
			err = m.writeShared(ctx, c, old, now, nil)
		}
	} else {
		err = m.shareBundle(ctx, c, r, old, now)
	}
	if err == nil {
		return ""
	}
	why = storable(errorText(err))
	now.tip, now.failure = old.tip, why
	if now.tip != "" {
		now.way = old.way
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTerm) // shareTerm may be over
	defer cancel()
	if err := m.writeShared(ctx, c, old, now, nil); err != nil {
		m.options.Log.Warn("cannot record why commits are not shared", "attempt_id", c.ID, "error", err)
	}
	return why
}

// tooBig explains that a branch exceeds maxShared.
func tooBig() error {
	return fmt.Errorf("its new commits are larger than %d MiB, which is the limit of the store; share the project's work by its remote", maxShared>>20)
}

// shareBundle stores a bundle with the commits since the last one or, if it cannot build on
// that one, with all.
func (m *Manager) shareBundle(ctx context.Context, c checkout, r worktree.Repo, old, now shared) error {
	dir, err := os.MkdirTemp(m.options.Dir, ".share-")
	if err != nil {
		return fmt.Errorf("create a folder for a bundle: %w", err)
	}
	defer os.RemoveAll(dir)
	file, since, limit := filepath.Join(dir, "bundle"), "", maxShared
	if old.way == ShareInStore && len(old.bundles) < maxBundles {
		since, limit = old.tip, maxShared-old.size()
	}
	b, err := c.tree.Bundle(ctx, r, file, since, limit)
	if errors.Is(err, worktree.ErrTooBig) && since != "" && limit < maxShared { // the earlier bundles may hold what was rewritten
		b, err = c.tree.Bundle(ctx, r, file, "", maxShared)
	}
	if errors.Is(err, worktree.ErrTooBig) {
		return tooBig()
	}
	if err != nil {
		return err
	}
	now.tip = b.Tip
	if b.Since != "" {
		now.bundles = old.bundles
	}
	if b.Size == 0 {
		return m.writeShared(ctx, c, old, now, nil)
	}
	row := bundle{id: newID(), tip: b.Tip, size: b.Size}
	if n := len(old.bundles); n > 0 {
		row.ordinal = old.bundles[n-1].ordinal + 1
	}
	if row.digest, err = m.writeChunks(ctx, row.id, file); err != nil {
		return fmt.Errorf("store a bundle: %w", err)
	}
	return m.writeShared(ctx, c, old, now, &row)
}

// writeChunks stores the bytes of a bundle, a row for each part, without the lock of all
// writers. Nothing refers to them until the bundle has its row.
func (m *Manager) writeChunks(ctx context.Context, id, file string) (digest string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum, part := sha256.New(), make([]byte, sharedChunk)
	for n := 0; ; n++ {
		read, err := io.ReadFull(f, part)
		if read > 0 {
			sum.Write(part[:read])
			var now time.Time
			if err := m.db.View(ctx, func(tx *store.Tx) error { now = tx.Now; return nil }); err != nil {
				return "", err
			}
			insert := store.Statement{Query: "INSERT INTO shared_chunks (bundle_id, part, data, created_at) VALUES (?, ?, ?, ?)",
				Args: []any{id, n, base64.StdEncoding.EncodeToString(part[:read]), millis(now)}, Rows: 1}
			if _, err := m.db.Apply(ctx, false, store.Plan{At: now, Inserts: []store.Statement{insert}}); err != nil {
				return "", err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// errShared reports that another process has shared the branch in the meantime.
var errShared = errors.New("another process has shared the branch at the same time")

// writeShared stores what is shared of a repository now. If now has no bundles, it removes
// the old ones; added is a new one.
func (m *Manager) writeShared(ctx context.Context, c checkout, old, now shared, added *bundle) error {
	return m.db.Update(ctx, func(tx *store.Tx) error {
		if _, err := readAttempt(ctx, tx, c.ID); err != nil {
			return err // deleted in the meantime
		}
		before, err := readShared(ctx, tx, c.ID)
		if err != nil {
			return err
		}
		was := before[old.repoID]
		if was.tip != old.tip || !slices.Equal(was.bundles, old.bundles) {
			return errShared
		}
		if now.failure == "" && len(now.bundles) == 0 {
			if err := dropBundles(ctx, tx, "attempt_id = ? AND repo_id = ?", c.ID, old.repoID); err != nil {
				return err
			}
		}
		if added != nil {
			if _, err := tx.Exec(ctx, "INSERT INTO shared_bundles (id, attempt_id, repo_id, ordinal, tip, size, digest, created_at) VALUES ("+marks(8)+")",
				added.id, c.ID, old.repoID, added.ordinal, added.tip, added.size, added.digest, millis(tx.Now)); err != nil {
				return fmt.Errorf("write bundle: %w", err)
			}
		}
		at := tx.Now
		if now.failure != "" {
			at = was.at
		}
		_, err = tx.Exec(ctx, `INSERT INTO shared (attempt_id, repo_id, way, tip, failure, host, shared_at) VALUES (`+marks(7)+`)
			ON CONFLICT (attempt_id, repo_id) DO UPDATE SET way = excluded.way, tip = excluded.tip, failure = excluded.failure, host = excluded.host, shared_at = excluded.shared_at`,
			c.ID, old.repoID, now.way, now.tip, now.failure, m.host, millis(at))
		if err == nil {
			_, err = note(tx, Event{Type: ReviewChanged, TaskID: c.TaskID, AttemptID: c.ID})
		}
		return err
	})
}

// dropBundles deletes bundles with their bytes.
func dropBundles(ctx context.Context, tx *store.Tx, where string, args ...any) error {
	for _, query := range []string{"DELETE FROM shared_chunks WHERE bundle_id IN (SELECT id FROM shared_bundles WHERE " + where + ")", "DELETE FROM shared_bundles WHERE " + where} {
		if _, err := tx.Exec(ctx, query, args...); err != nil {
			return fmt.Errorf("delete bundles: %w", err)
		}
	}
	return nil
}

// dropShared deletes everything that was shared of an attempt from the store.
func dropShared(ctx context.Context, tx *store.Tx, attemptID string) error {
	if err := dropBundles(ctx, tx, "attempt_id = ?", attemptID); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "DELETE FROM shared WHERE attempt_id = ?", attemptID); err != nil {
		return fmt.Errorf("delete the shared commits: %w", err)
	}
	return nil
}

// share shares the commits of the running attempt, and logs what is not shared.
func (r *run) share(ctx context.Context) {
	for _, why := range r.m.share(ctx, r.c) {
		if r.unshared != why && r.log != nil {
			r.log.Append(logs.Failed(why))
		}
		r.unshared = why
	}
}

// shareMeanwhile shares what the agent commits while it runs, so that it survives the
// machine. An agent in a sandbox commits to a repository of its own; its commits are shared
// when it ends. The caller calls stop before it shares itself.
func (r *run) shareMeanwhile() (stop func()) {
	if r.m.host == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(min(r.m.options.Lease, sharePause))
		defer tick.Stop()
		last := ""
		for {
			tips := ""
			for _, repo := range r.c.tree.Repos {
				tip, err := r.c.tree.Tip(ctx, repo)
				tips += fmt.Sprint(tip, err, " ")
			}
			if tips != last { // otherwise the store is not asked
				r.share(ctx)
			}
			last = tips
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// pruneShared removes from the store what was shared of attempts that are no longer needed:
// their tasks ended long ago, as for their worktrees. It also removes what dead machines
// have left, and forgets this machine's copies.
func (m *Manager) pruneShared(ctx context.Context) error {
	kept := map[string]bool{}
	err := m.db.Update(ctx, func(tx *store.Tx) error {
		attempts, err := all(ctx, tx, scanAttempt, "SELECT "+attemptColumns+" FROM attempts a WHERE a.id IN (SELECT attempt_id FROM shared)")
		if err != nil {
			return err
		}
		for _, a := range attempts {
			t, err := readTask(ctx, tx, a.TaskID)
			if err != nil {
				return err
			}
			p, err := latestProcess(ctx, tx, a.ID)
			if err != nil {
				return err
			}
			u := usedTree{running: p != nil && !p.State.Ended(), item: GCItem{Status: t.Status, LastUsed: a.Updated}}
			if m.reasonToRetain(GC{}, u, tx.Now) != "" {
				kept[a.ID] = true
			} else if err := dropShared(ctx, tx, a.ID); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, "DELETE FROM shared_chunks WHERE created_at < ? AND bundle_id NOT IN (SELECT id FROM shared_bundles)", millis(tx.Now.Add(-orphanedAfter)))
		return err
	})
	if err != nil {
		return fmt.Errorf("remove shared commits: %w", err)
	}
	var paths []string
	err = m.db.View(ctx, func(tx *store.Tx) error {
		paths, err = all(ctx, tx, scanText, "SELECT path FROM repo_places WHERE host = ?", m.host)
		return err
	})
	problems := []error{err}
	for _, path := range paths {
		problems = append(problems, worktree.Repo{Name: filepath.Base(path), Path: path}.ForgetShared(ctx, func(id string) bool { return !kept[id] }))
	}
	return errors.Join(problems...)
}

// unshare deletes the ref of an attempt on the remote. A remote that cannot be reached keeps
// it.
func (m *Manager) unshare(ctx context.Context, attemptID string, tree worktree.Tree, refs map[string]remoteRef) {
	for _, r := range tree.Repos {
		if ref, ok := refs[r.Name]; ok {
			if err := r.PushShared(ctx, ref.Address, "", ref.Ref); err != nil {
				m.options.Log.Warn("cannot delete the shared commits on the remote", "attempt_id", attemptID, "repo", r.Name, "error", err)
			}
		}
	}
}

// remoteRef is a ref that was pushed to share an attempt.
type remoteRef struct{ Address, Ref string }

// remoteRefs returns the refs through which an attempt is shared, by the repository's name.
func remoteRefs(ctx context.Context, tx *store.Tx, c checkout) (map[string]remoteRef, error) {
	found, err := readShared(ctx, tx, c.ID)
	refs := map[string]remoteRef{}
	for i, r := range c.repos {
		if s := found[r.ID]; s.way == ShareByRemote && s.tip != "" {
			refs[c.tree.Repos[i].Name] = remoteRef{s.remote, worktree.SharedRef(c.ID, r.ID)}
		}
	}
	return refs, err
}
