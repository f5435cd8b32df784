package tasks

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

// A run belongs to the process that started it. A process that is waiting for a
// slot has an origin: a digest of the environment and settings that it was
// started with. Only a manager with the same origin starts the process. For
// example, a shell without the same keys or a cron job does not start it. The
// values are in no file: a runner receives them over a pipe.
//
// The origin says who may run a process. The runner that it is meant for has a key, too: a
// digest of the program and of all that its starter hands to it, also of what can differ
// between managers of one origin, for example the index of the folder that they were
// started in. So a process runs with its starter's program and settings as long as its
// runner lives, also after an upgrade or a change of the configuration.

// Configuration holds an installation's settings that belong to a run's origin
// but have no field in [Options].
type Configuration struct {
	// File is the path of the configuration file. It is empty if there is none.
	File string
	// Wrap is the command that runs every agent. Nil means no wrapper.
	Wrap []string
	// Settings lists additional settings of a run, as NAME=value.
	Settings []string
}

// Origin describes the environment and settings that an attempt was started with. It
// holds the names of variables, never their values.
type Origin struct {
	// Config is the path of the configuration file. It is empty if there was none.
	Config string `json:"config,omitempty"`
	// Names lists the variables that the agent gets in addition to those that every
	// program needs.
	Names []string `json:"names,omitempty"`
	// Wrap is the command that runs the agent. Nil means no wrapper.
	Wrap       []string      `json:"wrap,omitempty"`
	MaxRunning int           `json:"max_running"`
	TimeLimit  time.Duration `json:"time_limit"`
	IdleLimit  time.Duration `json:"idle_limit"`
	MaxOutput  int64         `json:"max_output"`
}

// madeWith is an origin as stored in a row.
type madeWith struct {
	Origin
	Runner string `json:"runner,omitempty"` // key of the runner that the process is meant for; empty in rows from older versions
}

// stamp is the origin of a process, as stored in its row.
type stamp struct {
	origin   string
	madeWith string // a [madeWith] as JSON
	slots    int
	// ofExecutor is how many processes of its executor may run. 0 means that there is no
	// limit.
	ofExecutor int
}

// stamp returns the origin of a process that this manager starts with an executor.
func (m *Manager) stamp(id string) (s stamp, err error) {
	if s.origin, err = m.origin(); err != nil {
		return s, err
	}
	o := m.options
	made := Origin{Config: o.Config.File, Wrap: o.Config.Wrap, MaxRunning: o.slots(), TimeLimit: o.WallClock, IdleLimit: o.Silence, MaxOutput: o.MaxOutput}
	usual, _ := executor.Environment(os.Environ(), nil)
	all, _ := executor.Environment(os.Environ(), slices.Concat(o.Agents.Passed(id), o.Env))
	for _, v := range all {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(usual, v) {
			made.Names = append(made.Names, name)
		}
	}
	slices.Sort(made.Names)
	key, err := m.runnerKey()
	if err != nil {
		return s, err
	}
	data, err := json.Marshal(madeWith{made, key})
	s.madeWith, s.slots, s.ofExecutor = string(data), o.slots(), o.MaxRunningOf[executor.Canonical(id)]
	return s, err
}

// runnerID returns the name of the runner that a process is meant for.
func (s stamp) runnerID() runnerID {
	var made madeWith
	json.Unmarshal([]byte(s.madeWith), &made) // empty in rows from older versions
	return runnerID{s.origin, made.Runner}
}

// runnerID returns the name of the runner of the processes that this manager queues.
func (m *Manager) runnerID() (id runnerID, err error) {
	if id.origin, err = m.origin(); err == nil {
		id.key, err = m.runnerKey()
	}
	return id, err
}

// runnerKey returns the key of the runner that this manager would start now. It is a keyed
// digest, like the origin.
func (m *Manager) runnerKey() (string, error) {
	if _, key, ok := strings.Cut(m.options.Origin, "/"); ok {
		return key, nil
	}
	line, err := m.options.runnerLine()
	if err != nil {
		return "", err
	}
	program := ""
	if path, err := exec.LookPath(line[0]); err == nil {
		if info, err := os.Stat(path); err == nil { // an upgrade replaces the file
			program = fmt.Sprint(path, " ", info.Size(), " ", info.ModTime().UnixNano())
		}
	}
	env := map[string]string{}
	for _, v := range m.runnerEnv() {
		if name, value, _ := strings.Cut(v, "="); !slices.Contains(ofTerminal, name) && !slices.Contains(ofShell, name) {
			env[name] = value
		}
	}
	key, err := m.options.digest([]any{program, line, env})
	return key[:min(len(key), 32)], err
}

// ofShell lists further variables that differ between shells and do not affect a runner.
var ofShell = []string{"_", "PWD", "OLDPWD", "SHLVL", "COLUMNS", "LINES", "WINDOWID", "TERM_SESSION_ID", "TMUX", "TMUX_PANE", "SSH_TTY", "SSH_CLIENT", "SSH_CONNECTION"}

// ofTerminal lists variables that differ between terminals but do not affect a
// run.
var ofTerminal = []string{"TERM", "COLORTERM", "NO_COLOR", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS", "XDG_SESSION_PATH", "XDG_SEAT", "XDG_SEAT_PATH", "XDG_VTNR"}

// digestOrigin returns the origin of processes that a manager with these options
// starts. It is a keyed digest, so that readers of the store cannot test guesses of
// values.
func (o Options) digestOrigin() (string, error) {
	pass := slices.Clone(o.Env)
	for _, i := range o.Agents.List() {
		pass = append(pass, o.Agents.Passed(i.ID)...)
	}
	env, _ := executor.Environment(os.Environ(), pass)
	env = slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ofTerminal, name)
	})
	slices.Sort(env)
	parts := []any{env, o.Env, o.Config, o.BranchPrefix, o.slots(), o.WallClock, o.Silence, o.MaxOutput}
	if len(o.MaxRunningOf) > 0 {
		parts = append(parts, o.MaxRunningOf)
	}
	return o.digest(parts)
}

// digest returns a keyed digest of parts.
func (o Options) digest(parts any) (string, error) {
	key, err := originKey(o.Dir)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(parts)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(data)
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// originKey returns the key for this machine's digests, and creates it on the
// first call.
func originKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, "origin.key")
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKey(dir, path); err != nil {
			return nil, fmt.Errorf("create the origin key: %w", err)
		}
		key, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the origin key: %w", err)
	}
	return key, nil
}

// makeKey writes a key, unless another process creates it at the same time.
func makeKey(dir, path string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".origin-*") // readable only by this user
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(rand.Text())
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Stranded returns the origin of a queued attempt that nothing will start,
// because no runner of its origin is running and this manager has another
// origin. Otherwise it returns nil.
func (m *Manager) Stranded(ctx context.Context, attemptID string) (made *Origin, err error) {
	p, err := m.newestProcess(ctx, attemptID)
	if err != nil || p == nil || p.State != Queued {
		return nil, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		lost, err := m.lacksStarter(ctx, tx, p)
		if err == nil && lost {
			made = readOrigin(p.madeWith)
		}
		return err
	})
	return made, err
}

// lacksStarter reports whether no known manager or runner will start a queued
// process.
func (m *Manager) lacksStarter(ctx context.Context, tx *store.Tx, p *process) (bool, error) {
	if p.State != Queued || p.host != m.host || tx.Now.Sub(p.launched) < launchPatience {
		return false, nil
	}
	if own, err := m.origin(); err == nil && own == p.origin && m.options.MaxRunning > 0 {
		return false, nil
	}
	alive, err := m.livingRunners(ctx, tx)
	if err != nil {
		return false, err
	}
	for id := range alive {
		if id.origin == p.origin {
			return false, nil
		}
	}
	return true, nil
}

func readOrigin(column string) *Origin {
	o := &Origin{}
	json.Unmarshal([]byte(column), o) // empty in rows from older versions
	return o
}
