package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// An attempt can be queued for any host that has, or can clone, its repositories and has
// the agent. Its host is then anyHost until the queue of a host takes it. The queue is the
// table of processes: its rows, events, slots, leases and recovery are those of all other
// processes, and taking one is an ordinary transaction. A separate job queue would be a
// second copy of that state, and would exist on PostgreSQL only.

// anyHost is the host of attempts that no host has taken.
const anyHost = "*"

// wants describes what a host must have to take a process.
type wants struct {
	Labels   []string `json:"labels,omitempty"`
	Executor string   `json:"executor"`
	Repos    []string `json:"repos"` // IDs
}

// QueueOptions configures [Manager.ServeQueue].
type QueueOptions struct {
	// Labels are what the host offers, in addition to its operating system and
	// architecture.
	Labels []string
	// Places is how many processes may run on this host when an attempt is taken. Zero
	// means [Options.MaxRunning].
	Places int
	// Tell receives one line for each attempt that the host takes. It may be nil.
	Tell func(string)
}

// maxPlaces far exceeds what a machine can run.
const maxPlaces = 1000

// maxHostLabel is the maximum length of a label.
const maxHostLabel = 64

// parseLabels returns labels in lower case, sorted, each once. A value may contain several,
// separated by commas.
func parseLabels(given []string) (labels []string, err error) {
	for _, one := range given {
		for label := range strings.SplitSeq(one, ",") {
			label = strings.ToLower(strings.TrimSpace(label))
			plain := func(r rune) bool {
				return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)
			}
			if label == "" || len(label) > maxHostLabel || strings.ContainsFunc(label, func(r rune) bool { return !plain(r) }) {
				return nil, refuse(InvalidArgument, "use 1 to 64 of the letters a-z, digits, dots, dashes and underscores, for example gpu", "%q is not a label", brief(label))
			}
			labels = append(labels, label)
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels), nil
}

// anyLabel is the label that every host has.
const anyLabel = "any"

// offered returns the labels of this host.
func (o QueueOptions) offered() ([]string, error) {
	own, err := parseLabels(o.Labels)
	return append(own, anyLabel, runtime.GOOS, runtime.GOARCH), err
}

// Check returns a fault if the labels or the places are invalid.
func (o QueueOptions) Check() error {
	if o.Places < 0 || o.Places > maxPlaces {
		return refuse(InvalidArgument, "use a number from 1 to 1000", "%d is not a number of places", o.Places)
	}
	_, err := o.offered()
	return err
}

// runnerPrefix is the prefix of the lease of each manager that serves the queue. Its data is
// the host's labels.
const runnerPrefix = "tasks/runner/"

// ServeQueue takes queued attempts that this host can run, as slots become free, and starts
// them. It returns when ctx ends; what it has started continues.
func (m *Manager) ServeQueue(ctx context.Context, o QueueOptions) error {
	if err := o.Check(); err != nil {
		return err
	}
	labels, err := o.offered()
	if err != nil {
		return err
	}
	if m.options.MaxRunning < 0 {
		return refuse(InvalidArgument, "start it outside", "an attempt cannot take other attempts from the queue")
	}
	if err := m.ensureHostName(ctx); err != nil {
		return err
	}
	watch, err := m.Watch(ctx, -1, "")
	if err != nil {
		return err
	}
	defer watch.Close()
	own := store.Lease{Name: runnerPrefix + m.host + "/" + m.instance, Holder: m.holder(), Data: strings.Join(labels, ",")}
	defer func() {
		if err := m.db.Release(context.WithoutCancel(ctx), own.Name, own.Holder); err != nil {
			m.options.Log.Warn("cannot release this runner's lease", "error", err)
		}
	}()
	for ctx.Err() == nil {
		_, _, err := m.db.Claim(ctx, own, m.hostTerm())
		if err == nil {
			err = m.requeue(ctx)
		}
		if err == nil {
			err = m.takeAll(ctx, labels, o)
		}
		if err != nil && ctx.Err() == nil {
			m.options.Log.Warn("cannot take queued attempts", "error", err) // for example while the database restarts
		}
		next, cancel := context.WithTimeout(ctx, m.options.Lease/4)
		if err = watch.Wait(next); err != nil {
			<-next.Done() // not faster than this, whatever the error
		}
		cancel()
	}
	return nil
}

// takeAll takes attempts until none is left for this host, or no slot.
func (m *Manager) takeAll(ctx context.Context, labels []string, o QueueOptions) error {
	for {
		p, err := m.take(ctx, labels, o.Places)
		if err != nil || p == nil {
			return err
		}
		if o.Tell != nil {
			o.Tell(fmt.Sprintf("attempt %s was taken from the queue", p.AttemptID))
		}
		m.launch(ctx)
	}
}

// take assigns the longest-waiting attempt that this host can run to this host, and returns
// its process. It returns nil if there is no such attempt or no free slot.
func (m *Manager) take(ctx context.Context, labels []string, slots int) (taken *process, err error) {
	var queued []waiting // all of them: this host may be able to run only the last one
	err = m.db.View(ctx, func(tx *store.Tx) (err error) {
		queued, err = all(ctx, tx, scanWaiting, "SELECT id, attempt_id, wants FROM processes WHERE state = ? AND host = ? ORDER BY ordinal", Queued, anyHost)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, q := range queued {
		places, able, err := m.able(ctx, q.wants, labels)
		if err != nil {
			return nil, err
		}
		if !able {
			continue
		}
		p, full, err := m.assign(ctx, q, places, slots)
		if err != nil || p != nil || full {
			return p, err
		}
	}
	return nil, nil
}

// waiting is a queued process that no host has taken.
type waiting struct {
	id, attemptID string
	wants         wants
}

func scanWaiting(row scanner) (w waiting, err error) {
	var data string
	if err = row.Scan(&w.id, &w.attemptID, &data); err != nil {
		return w, err
	}
	return w, json.Unmarshal([]byte(data), &w.wants)
}

// able reports whether this host can run what w wants, and where it has, or will have, each
// repository.
func (m *Manager) able(ctx context.Context, w wants, labels []string) (places map[string]string, able bool, err error) {
	for _, l := range w.Labels {
		if !slices.Contains(labels, l) {
			return nil, false, nil
		}
	}
	known, err := m.Executors(ctx)
	if err != nil || !slices.ContainsFunc(known, func(e Executor) bool { return e.ID == w.Executor && e.Missing == "" }) {
		return nil, false, err
	}
	places = map[string]string{}
	for _, id := range w.Repos {
		path, err := m.placeOf(ctx, id)
		if err != nil || path == "" {
			return nil, false, err
		}
		places[id] = path
	}
	return places, true, nil
}

// placeOf returns where this host has a repository, or will have its clone. It is empty if
// the host neither has it nor can clone it.
func (m *Manager) placeOf(ctx context.Context, repoID string) (path string, err error) {
	var r Repo
	var remote, used string // used: where earlier attempts on this host have it
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if r, err = readRepo(ctx, tx, repoID); err != nil {
			return err
		}
		known := Repo{ID: repoID}
		if err := repoAt(ctx, tx, &known, m.host); err != nil {
			return err
		}
		used = known.Path
		return tx.QueryRow(ctx, "SELECT remote FROM repos WHERE id = ?", repoID).Scan(&remote)
	})
	switch {
	case err != nil:
		return "", err
	case used != "" && isFolder(used):
		return used, nil
	case r.root != "" && worktree.Has(ctx, r.Path, r.root):
		return r.Path, nil
	case remote == "":
		return "", nil
	}
	return m.clonePath(remote), nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// clonePath returns where this host keeps its clone of a remote. All attempts share it.
func (m *Manager) clonePath(remote string) string {
	sum := sha256.Sum256([]byte(remote))
	return filepath.Join(m.options.Dir, "clones", hex.EncodeToString(sum[:8]))
}

// assign makes this host the host of a queued process if a slot is free. full reports that
// none is.
func (m *Manager) assign(ctx context.Context, q waiting, places map[string]string, slots int) (taken *process, full bool, err error) {
	by, err := m.stamp(q.wants.Executor)
	if err != nil {
		return nil, false, err
	}
	by.slots = cmp.Or(slots, by.slots)
	err = m.db.Update(ctx, func(tx *store.Tx) error {
		taken = nil
		of, err := m.busySlots(ctx, tx, true)
		if err != nil {
			return err
		}
		full = total(of) >= by.slots
		if full || by.ofExecutor > 0 && of[q.wants.Executor] >= by.ofExecutor {
			return nil
		}
		done, err := tx.Exec(ctx, "UPDATE processes SET host = ?, origin = ?, made_with = ?, places = ?, executor_places = ?, launched_at = ?, updated_at = ? WHERE id = ? AND state = ? AND host = ?",
			m.host, by.origin, by.madeWith, by.slots, by.ofExecutor, millis(tx.Now), millis(tx.Now), q.id, Queued, anyHost)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err // another host was faster
		}
		a, err := readAttempt(ctx, tx, q.attemptID)
		if err != nil {
			return err
		}
		dir := filepath.Join(m.attemptsDir(), filepath.Base(a.Dir))
		if _, err := tx.Exec(ctx, "UPDATE attempts SET host = ?, dir = ? WHERE id = ?", m.host, dir, a.ID); err != nil {
			return err
		}
		for id, path := range places {
			if err := writePlace(ctx, tx, id, m.host, path); err != nil {
				return err
			}
		}
		p, err := readProcess(ctx, tx, q.id)
		taken = &p
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("take a queued attempt: %w", err)
	}
	return taken, full, nil
}

// requeue gives back attempts that a host has taken and not begun, because it died.
func (m *Manager) requeue(ctx context.Context) error {
	var stuck []process
	err := m.db.View(ctx, func(tx *store.Tx) error {
		taken, err := all(ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.state = ? AND p.wants <> '' AND p.host <> ? AND p.launched_at < ?",
			Queued, anyHost, millis(tx.Now.Add(-launchPatience)))
		if err != nil {
			return err
		}
		for _, p := range taken {
			up, err := tx.Leases(ctx, runnerPrefix+p.host+"/")
			if err != nil {
				return err
			}
			if p.host == m.host || len(up) == 0 {
				stuck = append(stuck, p)
			}
		}
		return nil
	})
	if err != nil || len(stuck) == 0 {
		return err
	}
	return m.db.Update(ctx, func(tx *store.Tx) error {
		for _, p := range stuck { // without its origin, no runner that is late claims it
			done, err := tx.Exec(ctx, "UPDATE processes SET host = ?, origin = '', launched_at = 0 WHERE id = ? AND state = ? AND host = ? AND launched_at = ?",
				anyHost, p.ID, Queued, p.host, millis(p.launched))
			if err != nil {
				return err
			}
			if n, err := done.RowsAffected(); err != nil || n == 0 {
				continue
			}
			if _, err := tx.Exec(ctx, "UPDATE attempts SET host = ? WHERE id = ?", anyHost, p.AttemptID); err != nil {
				return err
			}
			if _, err := note(tx, Event{Type: ProcessQueued, TaskID: p.taskID, AttemptID: p.AttemptID, ProcessID: p.ID, State: Queued}); err != nil {
				return err
			}
		}
		return nil
	})
}

// enqueue makes a new process wait for any host. The caller has stored it with anyHost.
func enqueue(ctx context.Context, tx *store.Tx, p process, w wants) error {
	data, err := json.Marshal(w)
	if err == nil {
		_, err = tx.Exec(ctx, "UPDATE processes SET wants = ? WHERE id = ?", string(data), p.ID)
	}
	return err
}

// noteRemotes stores the addresses of repositories that are on this host, so that others
// can clone them.
func (m *Manager) noteRemotes(ctx context.Context, repos []Repo) error {
	remotes := map[string]string{}
	for _, r := range repos {
		if _, err := os.Stat(r.Path); err == nil {
			if origin := (worktree.Repo{Name: r.Name, Path: r.Path}).Origin(ctx); origin != "" {
				remotes[r.ID] = origin // a copy without an origin does not hide a known one
			}
		}
	}
	return m.db.Update(ctx, func(tx *store.Tx) error {
		for id, remote := range remotes {
			if _, err := tx.Exec(ctx, "UPDATE repos SET remote = ? WHERE id = ?", remote, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// repoAt sets the repository's path on a host.
func repoAt(ctx context.Context, tx *store.Tx, r *Repo, host string) error {
	if host == "" || host == anyHost {
		return nil
	}
	paths, err := all(ctx, tx, func(row scanner) (path string, err error) { return path, row.Scan(&path) },
		"SELECT path FROM repo_places WHERE repo_id = ? AND host = ?", r.ID, host)
	if len(paths) > 0 {
		r.Path = paths[0]
	}
	return err
}

// reposAt sets the paths of repositories on a host.
func reposAt(ctx context.Context, tx *store.Tx, repos []Repo, host string) error {
	for i := range repos {
		if err := repoAt(ctx, tx, &repos[i], host); err != nil {
			return err
		}
	}
	return nil
}

// fetchClones brings this host's clones up to date before an attempt starts from them.
func (r *run) fetchClones() error {
	clones := filepath.Join(r.m.options.Dir, "clones") + string(filepath.Separator)
	for _, repo := range r.c.repos {
		if !strings.HasPrefix(repo.Path, clones) {
			continue
		}
		remote := ""
		err := r.m.db.View(r.ctx, func(tx *store.Tx) error {
			return tx.QueryRow(r.ctx, "SELECT remote FROM repos WHERE id = ?", repo.ID).Scan(&remote)
		})
		if err == nil {
			err = worktree.Clone(r.ctx, remote, repo.Path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Taker describes a host that serves the queue.
type Taker struct {
	Host   string
	Labels []string
	Until  time.Time // when it counts as away if it stays silent
}

// Takers returns the hosts that serve the queue and have all of the labels.
func (m *Manager) Takers(ctx context.Context, labels []string) (found []Taker, err error) {
	if labels, err = parseLabels(labels); err != nil {
		return nil, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		leases, err := tx.Leases(ctx, runnerPrefix)
		if err != nil {
			return err
		}
		for _, l := range leases {
			host, _, _ := strings.Cut(l.Name[len(runnerPrefix):], "/")
			info, err := m.lookUpHost(ctx, tx, host)
			if err != nil {
				return err
			}
			t := Taker{info.name, strings.Split(l.Data, ","), l.Until}
			if !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(t.Labels, l) }) {
				found = append(found, t)
			}
		}
		return nil
	})
	return found, err
}
