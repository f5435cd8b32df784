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

// If several machines share a store, the store records which machine has each
// attempt's folder. A machine is identified by an ID in its folder of
// worktrees, not by its name: two machines may have the same name, and a
// container gets a new name at each start. The name is only for people. A store
// in a folder belongs to one machine, whatever its name, so its ID there is
// empty.

// hostFile is the file in [Options.Dir] with the machine's ID.
const hostFile = "host-id"

var hostIDs = regexp.MustCompile(`^[A-Z2-7]{26}$`) // the format of rand.Text

// MachineID returns the ID of the machine whose [Options.Dir] is dir, and creates it on the
// first call. Processes that create it concurrently get the same ID.
func MachineID(dir string) (string, error) {
	path := filepath.Join(dir, hostFile)
	for range 2 {
		b, err := os.ReadFile(path)
		if err == nil {
			id := strings.TrimSpace(string(b))
			if !hostIDs.MatchString(id) {
				return "", refuse(InvalidArgument, "restore it from a backup; if there is none, delete it, and worktrees that were created here then count as another machine's",
					"%s does not contain a machine ID", path)
			}
			return id, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("read this machine's ID: %w", err)
		}
		if err := makeHostID(dir, path); err != nil {
			return "", fmt.Errorf("create this machine's ID: %w", err)
		}
	}
	return "", fmt.Errorf("this machine's ID: %s was removed", path)
}

// makeHostID writes a temporary file and links it to path. The file at path is
// therefore always complete, and an existing one is not replaced.
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
		return os.Rename(f.Name(), path) // the file system does not support links
	}
	return nil
}

// identify determines this machine's ID, and takes over attempts that older versions
// stored under the machine's name.
func (m *Manager) identify(ctx context.Context) {
	if !store.IsPostgres(m.db.Place()) {
		return
	}
	id, err := MachineID(m.options.Dir)
	if err != nil {
		m.host, m.noHost = "unknown/"+m.instance, err // no attempt belongs to this ID
		m.options.Log.Warn("this machine has no ID", "error", err)
		return
	}
	m.host = id
	if err := m.adopt(ctx); err != nil {
		m.options.Log.Warn("cannot take over worktrees stored under this machine's name", "error", err)
	}
}

// adopt replaces this machine's name with its ID in the rows of attempts whose folder
// exists here, or was in this machine's attempts folder. Other rows may belong to
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

// diedHere reports whether the runner of p was on this machine and has exited.
func (m *Manager) diedHere(p process) bool {
	return p.host == m.host && m.exited(p.runner)
}

// exited reports whether a process with this machine's ID has exited. If several machines
// share the store, a process from another boot counts as exited only when its lease has
// expired, like processes on other machines, because the state folder may be a copy. A
// process in another container may be running.
func (m *Manager) exited(l proc.Leader) bool {
	return l.Exited() && (!l.OtherBoot() || m.host == "" && !l.OtherContainer())
}

// Prefixes of lease names. Each machine has a host lease, whose data is the
// machine's name. Each process that starts runners has a launcher lease.
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

// announce renews the lease from which other machines know this machine's name.
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
	// This machine was restarted a moment ago, or another machine has the same
	// ID.
	if m.duplicateSince.IsZero() {
		m.duplicateSince = time.Now()
	}
	if time.Since(m.duplicateSince) > 2*m.hostTerm() {
		m.duplicateSince = time.Time{}
		m.options.Log.Warn("two machines have the same ID because a state folder was copied; delete the file on the machine that has no attempts",
			"file", filepath.Join(m.options.Dir, hostFile), "other", held.Data)
	}
	return nil
}

// hostTerm is how long a machine may be silent before it is considered away.
func (m *Manager) hostTerm() time.Duration { return 3 * m.options.Lease }

// renewPresence tells other machines that this manager starts the processes
// waiting for this machine.
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

// releasePresence releases the launcher lease that renewPresence claimed.
func (m *Manager) releasePresence() {
	if m.announcedAt.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), abandonGrace)
	defer cancel()
	if err := m.db.Release(ctx, m.launcher().Name, m.instance); err != nil {
		m.options.Log.Warn("cannot release this machine's lease", "error", err)
	}
}

// requireHostUp returns a fault if the attempt belongs to another machine on which
// deskhand is not running.
func (m *Manager) requireHostUp(ctx context.Context, tx *store.Tx, a attempt) error {
	if a.host == m.host {
		return m.noHost
	}
	for _, prefix := range []string{launcherPrefix, runnerPrefix} { // a runner has only the second at first
		if up, err := tx.Leases(ctx, prefix+a.host+"/"); err != nil || len(up) > 0 {
			return err
		}
	}
	seen, err := m.lookUpHost(ctx, tx, a.host)
	if err != nil {
		return err
	}
	return retryable(HostAway, "start deskhand there and send the message again, or start a new attempt here",
		"the worktree of attempt %s is on %s, and deskhand is not running there%s", a.ID, seen.name, seen.since(tx.Now)).WithCase("", "task", a.TaskID)
}

// hostInfo is the store's data about a machine.
type hostInfo struct {
	name     string
	lastSeen time.Time // zero means never
}

func (s hostInfo) since(now time.Time) string {
	if s.lastSeen.IsZero() {
		return ""
	}
	return fmt.Sprintf("; it was last seen %v ago", now.Sub(s.lastSeen).Round(time.Second))
}

func (m *Manager) lookUpHost(ctx context.Context, tx *store.Tx, host string) (s hostInfo, err error) {
	if host == anyHost {
		return hostInfo{name: "no machine yet, because it is queued for any"}, nil
	}
	if !hostIDs.MatchString(host) {
		return hostInfo{name: host}, nil // the row has a machine name, from before machines had IDs
	}
	l, err := tx.Lease(ctx, hostPrefix+host)
	if err != nil {
		return s, err
	}
	var known machine
	if json.Unmarshal([]byte(l.Data), &known) != nil || known.Name == "" {
		return hostInfo{name: "a machine with the ID " + host}, nil
	}
	if own, err := os.Hostname(); err == nil && own == known.Name && host != m.host {
		known.Name = "another machine named " + known.Name
	}
	return hostInfo{known.Name, l.Until.Add(-m.hostTerm())}, nil
}

// stranded returns the queued processes whose machine has been away for 30
// lease terms (10 minutes by default), and the names of those machines.
func (m *Manager) stranded(ctx context.Context) (lost []process, names []string, err error) {
	if m.host == "" {
		return nil, nil, nil
	}
	patience := 30 * m.options.Lease
	err = m.db.View(ctx, func(tx *store.Tx) error {
		waiting, err := all(ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.state = ? AND p.host <> ? AND p.wants = '' AND p.updated_at < ? ORDER BY p.ordinal",
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

// failStranded fails the processes whose machine is gone.
func (m *Manager) failStranded(ctx context.Context) error {
	lost, names, err := m.stranded(ctx)
	for i, p := range lost {
		m.fail(ctx, p, fmt.Sprintf("lost: its worktree is on %s, which is offline", names[i]))
	}
	return err
}

// ensureHostName stores this machine's name for the other machines, before this machine
// gets its first attempt.
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

// explainMissingRepo rewrites the error for a missing repository if several machines
// share the store, because the repository may be on another machine.
func (m *Manager) explainMissingRepo(r worktree.Repo, err error) error {
	f := fault.Of(err)
	if _, gone := os.Stat(r.Path); m.host == "" || f == nil || f.Code != NotFound || gone == nil {
		return err
	}
	name, _ := os.Hostname()
	return refuse(NotFound, "start the attempt on the machine that has the repository, or clone the repository to "+r.Path+" here",
		"repository %s is not on this machine (%s; looked in %s), and an attempt runs on the machine that starts it", r.Name, name, r.Path).WithCase(RepoNotHere, "path", r.Path)
}
