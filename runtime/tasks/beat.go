package tasks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// beatFile is the file in the folder of a run's first process whose modification time
// shows that the runner is alive. Only processes on the same folder can see it, so a
// store that several machines share needs leases, too.
const beatFile = "alive"

// beatingLeases is how many times longer a lease is if the runner has a beat file. The
// lease then only matters to a manager that cannot see the file.
const beatingLeases = 15

// beat shows that a runner is alive. home is the folder of the run's first process.
func beat(home string) error { return mark(filepath.Join(home, beatFile)) }

// letGo removes the beat file, which tells others that the run has ended.
func letGo(home string) { os.Remove(filepath.Join(home, beatFile)) }

// letsGo waits until the run of p has ended, but at most for letGoPatience. It reports
// whether nothing works on the attempt any more.
func (m *Manager) letsGo(p process) bool {
	_, first, run := strings.Cut(p.owner, "/")
	if !run {
		return p.runner.Exited()
	}
	for since := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(m.runDir(first), beatFile)); err != nil || p.runner.Exited() {
			return true
		}
		if time.Since(since) > letGoPatience {
			return false
		}
	}
}

// letGoPatience is how long a run that has lost its process may take to end. It notices
// when its agent has ended or at its next heartbeat.
const letGoPatience = 8 * time.Second

// mark sets the modification time of a file to now. It creates the file if it is missing,
// but not its folder.
func mark(path string) error {
	now := time.Now()
	err := os.Chtimes(path, now, now)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// lastBeat returns when the runner of p last showed that it is alive. It returns the
// zero time if p has no beat file, for example because a manager has taken it over.
func (m *Manager) lastBeat(p process) time.Time {
	_, first, run := strings.Cut(p.owner, "/")
	if !run || p.host != m.host || m.host != "" {
		return time.Time{}
	}
	info, err := os.Stat(filepath.Join(m.runDir(first), beatFile))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
