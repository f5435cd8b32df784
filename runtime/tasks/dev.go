package tasks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Fault codes of dev servers.
const (
	NoDevServer      = "no_dev_server"      // the project has no command for one
	DevServerRunning = "dev_server_running" // another process runs the attempt's
)

// DevServer is the project's command that serves an attempt's work. It belongs to the
// process that started it, and ends with that process, however it ends.
type DevServer struct {
	AttemptID string
	Port      int
	Started   time.Time
	// Ended is the reason why the server ended. It is empty while the server runs.
	Ended string

	host   string
	leader proc.Leader
}

// URL returns the server's address on the machine on which it runs.
func (d DevServer) URL() string { return "http://localhost:" + strconv.Itoa(d.Port) }

// DevServer returns an attempt's dev server, or nil if none was started.
func (m *Manager) DevServer(ctx context.Context, attemptID string) (d *DevServer, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if err := withinAttempt(ctx, tx, attemptID, "attempt_id", attemptID); err != nil {
			return err
		}
		d, err = readDev(ctx, tx, attemptID)
		return err
	})
	if d != nil && d.Ended == "" && d.host == m.host && d.leader.Exited() {
		d.Ended = "its process was killed"
	}
	return d, err
}

func readDev(ctx context.Context, tx *store.Tx, attemptID string) (*DevServer, error) {
	d := DevServer{AttemptID: attemptID}
	var started int64
	err := tx.QueryRow(ctx, "SELECT host, pid, born, port, started_at, ended FROM dev_servers WHERE attempt_id = ?", attemptID).
		Scan(&d.host, &d.leader.PID, &d.leader.StartTime, &d.Port, &started, &d.Ended)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read dev server: %w", err)
	}
	d.Started = at(started)
	return &d, nil
}

// HasDevServer reports whether one of an attempt's repositories has a command for a dev
// server.
func (m *Manager) HasDevServer(ctx context.Context, attemptID string) (bool, error) {
	c, err := m.checkoutOf(ctx, attemptID)
	return err == nil && c.devRepo() >= 0, err
}

// devRepo returns the index of the first repository with a dev server, or -1.
func (c checkout) devRepo() int {
	for i, r := range c.repos {
		if r.DevServer != "" {
			return i
		}
	}
	return -1
}

// StartDevServer starts an attempt's dev server on a free port, which it gets in the
// variable PORT. The server runs until it exits, until [Manager.StopDevServer], or until m
// is closed; done is closed then. Its output goes to the file [Manager.DevLog] and to also,
// if that is not nil. Faults: no_dev_server, dev_server_running, worktree_missing,
// sandbox_unavailable.
func (m *Manager) StartDevServer(ctx context.Context, attemptID string, also io.Writer) (d DevServer, done <-chan struct{}, err error) {
	c, err := m.checkoutOf(ctx, attemptID)
	if err != nil {
		return d, nil, err
	}
	i := c.devRepo()
	if i < 0 {
		at, err := m.Context(ctx, c.ID)
		if err != nil {
			return d, nil, err
		}
		return d, nil, refuse(NoDevServer, "set the project's dev server", "the project of attempt %s has no dev server", c.ID).WithCase("", "attempt", c.ID, "project", at.Project.Name)
	}
	if old, err := m.DevServer(ctx, c.ID); err != nil || old != nil && old.Ended == "" {
		return d, nil, errors.Join(err, devRunning(c.ID, old))
	}
	unlock, err := m.lockTree(ctx, c.ID) // a landing stops the server first
	if err != nil {
		return d, nil, err
	}
	defer unlock()
	if !c.tree.Present(ctx) {
		return d, nil, refuse(WorktreeMissing, "continue the attempt first, which restores its folder", "attempt %s has no folder", c.ID)
	}
	s := &devRun{m: m, c: c, repo: i}
	cmd, err := s.command(ctx, also)
	if err != nil {
		return d, nil, err
	}
	group, err := proc.Start(cmd)
	if err != nil {
		s.close()
		return d, nil, fmt.Errorf("start the dev server: %w", err)
	}
	s.DevServer = DevServer{AttemptID: c.ID, Port: s.Port, host: m.host, leader: proc.LeaderOf(cmd.Process.Pid)}
	ended := make(chan struct{})
	if err = s.write(ctx); err == nil {
		if err = s.log.begin(); err != nil {
			m.endDev(context.WithoutCancel(ctx), s.DevServer, "its log cannot be written")
		}
	}
	if err != nil {
		group.Kill()
		_ = cmd.Wait() // the error is that it was killed
		group.Close()
		s.close()
		return d, nil, err
	}
	m.background.Go(func() {
		defer close(ended)
		s.await(cmd, group)
	})
	return s.DevServer, ended, nil
}

func devRunning(id string, old *DevServer) error {
	if old == nil {
		return nil
	}
	return refuse(DevServerRunning, "stop it first", "the dev server of attempt %s is running on port %d", id, old.Port).WithCase("", "attempt", id)
}

// devRun is a dev server of this process.
type devRun struct {
	DevServer
	m    *Manager
	c    checkout
	repo int
	box  *sandbox // nil if there is none
	log  *devLog
}

func (s *devRun) close() {
	if s.box != nil {
		s.box.close()
	}
	if s.log != nil {
		s.log.file.Close()
	}
}

// command prepares the server's process, in the sandbox that is configured for the
// attempt's agent. An agent may have changed what the command runs.
func (s *devRun) command(ctx context.Context, also io.Writer) (*exec.Cmd, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s.AttemptID, s.Port = s.c.ID, port
	env, secrets := executor.Environment(os.Environ(), s.m.options.Env)
	// DESKHAND_ATTEMPT_ID says that an agent wrote the code. Like the agent's processes, the
	// server ends with the run during which it was started.
	env = append(env, "PORT="+strconv.Itoa(port), "BROWSER=none", "DESKHAND_ATTEMPT_ID="+s.c.ID, "DESKHAND_BRANCH="+s.c.attempt.Branch, devMark+"="+s.mark())
	if s.log, err = s.m.newDevLog(s.c.ID, logs.NewRedactor(secrets), also); err != nil {
		return nil, err
	}
	dir := s.c.folder(s.repo)
	line := shell(s.c.repos[s.repo].DevServer)
	if err := s.confine(ctx, env); err != nil {
		s.close()
		return nil, err
	}
	if s.box != nil {
		if line, env, err = s.box.in(dir, line, env, ""); err != nil {
			s.close()
			return nil, err
		}
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, afterExit
	cmd.Stdout, cmd.Stderr = s.log, s.log
	return cmd, nil
}

// freePort returns a port of the loopback interface that is free now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// confine sets the sandbox. It has no git folder: the agent's own may be in use.
func (s *devRun) confine(ctx context.Context, env []string) error {
	r := &run{m: s.m, ctx: ctx, c: s.c, env: env}
	at, err := s.m.Context(ctx, s.c.ID)
	if err != nil {
		return err
	}
	r.project = at.Project
	err = s.m.db.View(ctx, func(tx *store.Tx) error {
		p, err := latestProcess(ctx, tx, s.c.ID)
		if p != nil {
			r.p = *p
		}
		return err
	})
	if err != nil {
		return err
	}
	asked, network, err := r.confinement()
	if err != nil || asked == "" {
		return err
	}
	mode, why, err := r.chooseSandbox(asked)
	if err != nil || mode == box.None {
		return err
	}
	if len(network) != 1 || network[0] != box.NetworkOn {
		return refuse(SandboxUnavailable, "set the project's sandbox network to on, or its sandbox to none",
			"the sandbox closes the network, so no browser could reach the dev server of attempt %s", s.c.ID)
	}
	container, contained := r.container()
	if container.Engine == box.Kubectl {
		return refuse(SandboxUnavailable, "use an executor of another kind", "the agent of attempt %s runs in a Job, whose dev server no browser could reach", s.c.ID)
	}
	if container.Network != "" {
		return refuse(SandboxUnavailable, "leave out container.network, so that the container uses this machine's network",
			"the container is in the network %s, so no browser could reach the dev server of attempt %s", container.Network, s.c.ID)
	}
	sealed, err := s.c.tree.Sealed(ctx)
	if err != nil {
		return err
	}
	b := &sandbox{Sandbox: Sandbox{Mode: mode, Network: network, Why: why}, home: s.c.home(), image: contained}
	if b.policy.Temp, err = os.MkdirTemp("", "deskhand-dev-"); err != nil {
		return err
	}
	if mode == box.Container {
		b.policy.Run, b.policy.Record = "dev-"+s.c.ID, filepath.Join(b.policy.Temp, "containers")
	}
	needs, _, _ := s.m.options.Agents.Boxing(r.p.Executor)
	needs.Write, needs.Copy = nil, nil // the agent's own files, for example its credentials
	if err := r.allow(&b.policy, worktree.Box{Write: []string{s.c.tree.Dir}, Seal: sealed}, needs); err != nil {
		b.close()
		return err
	}
	s.box = b
	return nil
}

// write stores the server, unless another process was faster.
func (s *devRun) write(ctx context.Context) error {
	return s.m.db.Update(ctx, func(tx *store.Tx) error {
		old, err := readDev(ctx, tx, s.AttemptID)
		if err != nil {
			return err
		}
		if old != nil && old.Ended == "" && !(old.host == s.host && old.leader.Exited()) {
			return devRunning(s.AttemptID, old)
		}
		s.Started = tx.Now
		_, err = tx.Exec(ctx, `INSERT INTO dev_servers (attempt_id, host, pid, born, port, started_at, ended) VALUES (?, ?, ?, ?, ?, ?, '')
			ON CONFLICT (attempt_id) DO UPDATE SET host = excluded.host, pid = excluded.pid, born = excluded.born, port = excluded.port, started_at = excluded.started_at, ended = ''`,
			s.AttemptID, s.host, s.leader.PID, s.leader.StartTime, s.Port, millis(tx.Now))
		if err == nil {
			_, err = note(tx, Event{Type: TaskUpdated, TaskID: s.c.TaskID, AttemptID: s.AttemptID})
		}
		return err
	})
}

// await waits until the server ends, and ends it when the manager is closed.
func (s *devRun) await(cmd *exec.Cmd, group *proc.Group) {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var err error
	select {
	case err = <-done:
	case <-s.m.ctx.Done():
		group.Terminate()
		select {
		case err = <-done:
		case <-time.After(afterTerminate):
			group.Kill()
			err = <-done
		}
	}
	s.kill() // processes that the server left behind
	group.Close()
	s.close()
	why := "it exited"
	if e := scriptEnding(err, ""); e.State == Failed {
		why = e.Failure
	}
	s.m.endDev(context.WithoutCancel(s.m.ctx), s.DevServer, why)
}

// endDev records why a server ended, unless that is already known.
func (m *Manager) endDev(ctx context.Context, d DevServer, why string) {
	err := m.db.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE dev_servers SET ended = ? WHERE attempt_id = ? AND pid = ? AND born = ? AND ended = ''", why, d.AttemptID, d.leader.PID, d.leader.StartTime)
		if err == nil {
			_, err = note(tx, Event{Type: TaskUpdated, AttemptID: d.AttemptID})
		}
		return err
	})
	if err != nil {
		m.options.Log.Warn("cannot record the end of a dev server", "attempt_id", d.AttemptID, "error", err)
	}
}

// StopDevServer ends an attempt's dev server, whichever process of this machine has
// started it. stopped is false if none was running.
func (m *Manager) StopDevServer(ctx context.Context, attemptID string) (stopped bool, err error) {
	d, err := m.DevServer(ctx, attemptID)
	if err != nil || d == nil || d.Ended != "" {
		return false, err
	}
	if d.host != m.host {
		return false, refuse(WorktreeMissing, "stop it there", "the dev server of attempt %s is on another machine", attemptID)
	}
	m.endDev(ctx, *d, "stopped")
	d.kill()
	return true, nil
}

// devMark is a variable in the environment of everything that a dev server starts. It
// finds processes that have left the server's group, and not those of the agent.
const devMark = "DESKHAND_DEV_SERVER"

func (d DevServer) mark() string { return d.AttemptID + "/" + strconv.Itoa(d.Port) }

func (d DevServer) kill() {
	d.leader.Kill()
	proc.KillMarked(devMark, d.mark())
}

// stopDev ends an attempt's dev server, because its code is the agent's: it must not run
// while deskhand commits, moves or removes the work.
func (m *Manager) stopDev(ctx context.Context, attemptID string) {
	if _, err := m.StopDevServer(ctx, attemptID); err != nil {
		m.options.Log.Warn("cannot stop the dev server", "attempt_id", attemptID, "error", err)
	}
}

// DevLog returns the end of a dev server's output, at most so many lines.
func (m *Manager) DevLog(attemptID string, lines int) (string, error) {
	attemptID, err := parseID("attempt_id", attemptID)
	if err != nil {
		return "", err
	}
	var text []byte
	for _, name := range []string{m.devLogFile(attemptID) + ".old", m.devLogFile(attemptID)} {
		part, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("read the dev server's log: %w", err)
		}
		text = append(text, part...)
	}
	all := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(text), "\uFFFD"), "\n"), "\n")
	return textutil.Plain(strings.Join(all[max(len(all)-lines, 0):], "\n")), nil
}

func (m *Manager) devLogFile(attemptID string) string {
	return filepath.Join(m.options.Dir, "dev", attemptID+".log")
}

// maxDevLog is the size in bytes at which a log begins again; the part before is kept
// once.
const maxDevLog = 512 << 10

// devLog is the log of a dev server. Until begin, it leaves the file alone, which may
// belong to a server that runs already.
type devLog struct {
	mu       sync.Mutex
	path     string
	begun    bool
	before   []byte   // what was written before begin, at most maxDevLog bytes
	file     *os.File // nil before begin
	size     int
	redactor *logs.Redactor
	also     io.Writer
}

func (m *Manager) newDevLog(attemptID string, redactor *logs.Redactor, also io.Writer) (*devLog, error) {
	l := &devLog{path: m.devLogFile(attemptID), redactor: redactor, also: also}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return nil, fmt.Errorf("create the dev server's log: %w", err)
	}
	return l, nil
}

// begin replaces the log of the server before.
func (l *devLog) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = os.Remove(l.path + ".old") // there may be none
	if err := l.open(); err != nil {
		return err
	}
	l.begun, l.size = true, len(l.before)
	_, _ = l.file.Write(l.before) // a full disk
	l.before = nil
	return nil
}

func (l *devLog) open() (err error) {
	l.size = 0
	if l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
		return fmt.Errorf("create the dev server's log: %w", err)
	}
	return nil
}

// Write implements [io.Writer]. If the log cannot be written, the server goes on.
func (l *devLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.redactor.Redact(p)
	if l.also != nil {
		_, _ = l.also.Write(text) // a closed terminal does not end the server
	}
	if !l.begun {
		l.before = append(l.before, text...)
		l.before = l.before[max(len(l.before)-maxDevLog, 0):]
		return len(p), nil
	}
	if l.size += len(text); l.size > maxDevLog {
		l.file.Close()
		_ = os.Rename(l.path, l.path+".old") // otherwise that part is lost
		if l.open() != nil {
			return len(p), nil
		}
	}
	_, _ = l.file.Write(text) // a full disk
	return len(p), nil
}

// dropDevLog removes the log of a deleted attempt.
func (m *Manager) dropDevLog(attemptID string) {
	for _, name := range []string{m.devLogFile(attemptID), m.devLogFile(attemptID) + ".old"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			m.options.Log.Warn("cannot remove a dev server's log", "attempt_id", attemptID, "error", err)
		}
	}
}
