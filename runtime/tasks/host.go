package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// A store that several machines share says of each attempt which of them has its
// folder. A machine is known by an id in the folder of its worktrees, and not by
// its name: two may have one name, and a container has a new one at each start.
// The name is for people. A store in a folder is of one machine, whatever it is
// called: there the id is empty.

// hostFile is the file in [Options.Dir] with the machine's ID.
const hostFile = "host-id"

var hostIDs = regexp.MustCompile(`^[A-Z2-7]{26}$`) // as rand.Text makes them

// hostID returns this machine's ID, and creates it the first time. Processes
// that create it concurrently get the same one.
func hostID(dir string) (string, error) {
	path := filepath.Join(dir, hostFile)
	for range 2 {
		b, err := os.ReadFile(path)
		if err == nil {
			id := strings.TrimSpace(string(b))
			if !hostIDs.MatchString(id) {
				return "", refuse(InvalidArgument, "put it back from a copy; if there is none, delete it: then the worktrees that were made here count as another machine's",
					"%s is not the id of a machine", path)
			}
			return id, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("read id of this machine: %w", err)
		}
		if err := makeHostID(dir, path); err != nil {
			return "", fmt.Errorf("make id of this machine: %w", err)
		}
	}
	return "", fmt.Errorf("id of this machine: %s was taken away", path)
}

// makeHostID writes a temporary file and links it to path, so that the file is
// never incomplete and the first one stays.
func makeHostID(dir, path string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, hostFile+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(rand.Text() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return os.Rename(f.Name(), path) // a file system without links
	}
	return nil
}

// identify determines this machine's ID, and takes over attempts stored under
// its name by versions without IDs.
func (m *Manager) identify(ctx context.Context) {
	if !store.IsPostgres(m.db.Place()) {
		return
	}
	id, err := hostID(m.options.Dir)
	if err != nil {
		m.host, m.noHost = "unknown/"+m.instance, err // nothing is of it
		m.options.Log.Warn("this machine has no id", "error", err)
		return
	}
	m.host = id
	if err := m.adopt(ctx); err != nil {
		m.options.Log.Warn("worktrees of this machine's name not taken over", "error", err)
	}
}

// adopt replaces this machine's name by its ID in rows of attempts whose folder
// is here, or was where this machine makes them. Other rows may belong to
// another machine with the same name.
func (m *Manager) adopt(ctx context.Context) error {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return err
	}
	var mine, leftMine []string
	err = m.db.View(ctx, func(tx *store.Tx) error {
		attempts, err := all(ctx, tx, scanAttempt, "SELECT "+attemptColumns+" FROM attempts a WHERE a.host = ?", name)
		if err != nil {
			return err
		}
		for _, a := range attempts {
			if m.madeHere(a.Dir, a.removed != 0) {
				mine = append(mine, a.ID)
			}
		}
		left, err := readLeftovers(ctx, tx, name)
		for id, l := range left {
			if m.madeHere(l.Tree.Dir, false) {
				leftMine = append(leftMine, id)
			}
		}
		return err
	})
	if err != nil || len(mine)+len(leftMine) == 0 {
		return err
	}
	return m.db.Update(ctx, func(tx *store.Tx) error {
		for _, id := range mine {
			for _, query := range []string{"UPDATE attempts SET host = ? WHERE id = ? AND host = ?", "UPDATE processes SET host = ? WHERE attempt_id = ? AND host = ?"} {
				if _, err := tx.Exec(ctx, query, m.host, id, name); err != nil {
					return err
				}
			}
		}
		for _, id := range leftMine {
			if _, err := tx.Exec(ctx, "UPDATE leftovers SET host = ? WHERE attempt_id = ? AND host = ?", m.host, id, name); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *Manager) madeHere(dir string, removed bool) bool {
	if _, err := os.Lstat(dir); err == nil {
		return true
	}
	return removed && filepath.Dir(dir) == m.attemptsDir()
}

// diedHere reports whether the runner of p was on this machine and has ended.
// In a store of several machines, a runner of another boot is given up when its
// lease has expired, as those of other machines are.
func (m *Manager) diedHere(p process) bool {
	return p.host == m.host && p.runner.Exited() && (m.host == "" || !p.runner.OtherBoot())
}

// The names of leases: one has the machine's name as its data, and one each
// process of the machine that starts what waits.
const (
	hostPrefix     = "tasks/host/"
	launcherPrefix = "tasks/launcher/"
)

func (m *Manager) launcher() store.Lease {
	return store.Lease{Name: launcherPrefix + m.host + "/" + m.instance, Holder: m.instance}
}

// machine is the data of a host's lease.
type machine struct {
	Name string `json:"name"`
}

// announce renews the lease that tells other machines this one's name.
func (m *Manager) announce(ctx context.Context) error {
	if m.host == "" || m.noHost != nil {
		return m.noHost
	}
	name, _ := os.Hostname()
	data, err := json.Marshal(machine{name})
	if err != nil {
		return err
	}
	own := store.Lease{Name: hostPrefix + m.host, Holder: name + " " + proc.Self().Boot(), Data: string(data)}
	held, ok, err := m.db.Claim(ctx, own, m.hostTerm())
	if err != nil || ok {
		m.duplicateSince = time.Time{}
		return err
	}
	// This machine was started anew a moment ago, or there are two of it.
	if m.duplicateSince.IsZero() {
		m.duplicateSince = time.Now()
	}
	if time.Since(m.duplicateSince) > 2*m.hostTerm() {
		m.duplicateSince = time.Time{}
		m.options.Log.Warn("two machines have one id: a state folder was copied; delete the file on the machine that has no attempts",
			"file", filepath.Join(m.options.Dir, hostFile), "other", held.Data)
	}
	return nil
}

// hostTerm is how long a machine may be silent before it counts as away.
func (m *Manager) hostTerm() time.Duration { return 3 * m.options.Lease }

// renewPresence tells other machines that this manager starts what waits for
// this machine.
func (m *Manager) renewPresence(ctx context.Context) error {
	if m.host == "" || m.noHost != nil || m.options.MaxRunning < 0 || time.Since(m.announcedAt) < m.options.Lease {
		return nil
	}
	if err := m.announce(ctx); err != nil {
		return err
	}
	_, _, err := m.db.Claim(ctx, m.launcher(), m.hostTerm())
	if err == nil {
		m.announcedAt = time.Now()
	}
	return err
}

// releasePresence withdraws what renewPresence stored.
func (m *Manager) releasePresence() {
	if m.announcedAt.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), abandonGrace)
	defer cancel()
	if err := m.db.Release(ctx, m.launcher().Name, m.instance); err != nil {
		m.options.Log.Warn("release of machine failed", "error", err)
	}
}

// requireHostUp returns a fault if the attempt belongs to another machine on
// which no deskhand runs.
func (m *Manager) requireHostUp(ctx context.Context, tx *store.Tx, a attempt) error {
	if a.host == m.host {
		return m.noHost
	}
	up, err := tx.Leases(ctx, launcherPrefix+a.host+"/")
	if err != nil || len(up) > 0 {
		return err
	}
	seen, err := m.lookUpHost(ctx, tx, a.host)
	if err != nil {
		return err
	}
	return retryable(HostAway, "start deskhand there and send it again, or start a new attempt here",
		"the worktree of attempt %s is on %s, and no deskhand runs there%s", a.ID, seen.name, seen.since(tx.Now)).WithCase("", "task", a.TaskID)
}

// hostInfo is what the store knows of a machine.
type hostInfo struct {
	name     string
	lastSeen time.Time // zero: never
}

func (s hostInfo) since(now time.Time) string {
	if s.lastSeen.IsZero() {
		return ""
	}
	return fmt.Sprintf("; it was last heard of %v ago", now.Sub(s.lastSeen).Round(time.Second))
}

func (m *Manager) lookUpHost(ctx context.Context, tx *store.Tx, host string) (s hostInfo, err error) {
	if !hostIDs.MatchString(host) {
		return hostInfo{name: host}, nil // its name, of before there were ids
	}
	l, err := tx.Lease(ctx, hostPrefix+host)
	if err != nil {
		return s, err
	}
	var known machine
	if json.Unmarshal([]byte(l.Data), &known) != nil || known.Name == "" {
		return hostInfo{name: "a machine with the id " + host}, nil
	}
	return hostInfo{known.Name, l.Until.Add(-m.hostTerm())}, nil
}

// stranded returns queued processes of machines that have been away for half an
// hour's worth of leases (10 minutes by default), with the machines' names.
func (m *Manager) stranded(ctx context.Context) (lost []process, names []string, err error) {
	if m.host == "" {
		return nil, nil, nil
	}
	patience := 30 * m.options.Lease
	err = m.db.View(ctx, func(tx *store.Tx) error {
		waiting, err := all(ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.state = ? AND p.host <> ? AND p.updated_at < ? ORDER BY p.ordinal",
			Queued, m.host, millis(tx.Now.Add(-patience)))
		if err != nil {
			return err
		}
		for _, p := range waiting {
			up, err := tx.Leases(ctx, launcherPrefix+p.host+"/")
			if err != nil {
				return err
			}
			seen, err := m.lookUpHost(ctx, tx, p.host)
			if err != nil {
				return err
			}
			if len(up) == 0 && tx.Now.Sub(seen.lastSeen) > patience {
				lost, names = append(lost, p), append(names, seen.name)
			}
		}
		return nil
	})
	return lost, names, err
}

// failStranded ends what waits for a machine that is gone.
func (m *Manager) failStranded(ctx context.Context) error {
	lost, names, err := m.stranded(ctx)
	for i, p := range lost {
		m.fail(ctx, p, fmt.Sprintf("lost: it has to run on %s, which has its worktree and is away", names[i]))
	}
	return err
}

// ensureHostName stores this machine's name for the others, before it gets its
// first attempt.
func (m *Manager) ensureHostName(ctx context.Context) error {
	if m.host == "" || m.noHost != nil {
		return m.noHost
	}
	var known hostInfo
	err := m.db.View(ctx, func(tx *store.Tx) (err error) {
		known, err = m.lookUpHost(ctx, tx, m.host)
		return err
	})
	if err != nil || !known.lastSeen.IsZero() {
		return err
	}
	name, _ := os.Hostname()
	data, err := json.Marshal(machine{name})
	if err != nil {
		return err
	}
	_, _, err = m.db.Claim(ctx, store.Lease{Name: hostPrefix + m.host, Holder: m.instance, Data: string(data)}, time.Second)
	return err
}

// explainMissingRepo rewrites the error of a missing repository in a store of
// several machines: the repository may never have been on this one.
func (m *Manager) explainMissingRepo(r worktree.Repo, err error) error {
	f := fault.Of(err)
	if _, gone := os.Stat(r.Path); m.host == "" || f == nil || f.Code != NotFound || gone == nil {
		return err
	}
	name, _ := os.Hostname()
	return refuse(NotFound, "start the attempt on the machine that has the repository, or clone it to "+r.Path+" here",
		"repository %s is not on this machine, %s, which looked at %s: an attempt runs on the machine that starts it", r.Name, name, r.Path).WithCase(RepoNotHere, "path", r.Path)
}
