package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/runtime/store"
)

// Attempts returns the attempts of a task, newest first.
func (m *Manager) Attempts(ctx context.Context, taskID string) (found []AttemptSummary, err error) {
	if taskID, err = parseID("task_id", taskID); err != nil {
		return nil, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if _, err := readTask(ctx, tx, taskID); err != nil {
			return err
		}
		attempts, err := attemptsOf(ctx, tx, taskID)
		if err != nil {
			return err
		}
		for _, a := range attempts {
			s, err := latestSession(ctx, tx, a.ID)
			if err != nil {
				return err
			}
			found = append(found, AttemptSummary{Attempt: a.Attempt, SessionID: s.ID, Executor: s.Executor})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	return found, nil
}

func attemptsOf(ctx context.Context, tx *store.Tx, taskID string) ([]attempt, error) {
	return all(ctx, tx, scanAttempt, "SELECT "+attemptColumns+" FROM attempts a WHERE a.task_id = ? ORDER BY a.created_at DESC, a.id", taskID)
}

// Attempt returns one attempt. Fault: not_found.
func (m *Manager) Attempt(ctx context.Context, id string) (a Attempt, err error) {
	if id, err = parseID("attempt_id", id); err != nil {
		return Attempt{}, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		found, err := readAttempt(ctx, tx, id)
		a = found.Attempt
		return err
	})
	return a, err
}

// Session returns one session. Fault: not_found.
func (m *Manager) Session(ctx context.Context, id string) (s Session, err error) {
	if id, err = parseID("session_id", id); err != nil {
		return Session{}, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		s, err = readSession(ctx, tx, id)
		return err
	})
	return s, err
}

// Processes returns the processes of an attempt, oldest first. Fault:
// not_found.
func (m *Manager) Processes(ctx context.Context, attemptID string) (found []Process, err error) {
	if attemptID, err = parseID("attempt_id", attemptID); err != nil {
		return nil, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if _, err := readAttempt(ctx, tx, attemptID); err != nil {
			return err
		}
		processes, err := all(ctx, tx, scanProcess, "SELECT "+processColumns+" FROM processes p WHERE p.attempt_id = ? ORDER BY p.ordinal", attemptID)
		for _, p := range processes {
			found = append(found, p.Process)
		}
		return err
	})
	return found, err
}

// Context returns an attempt with its task and project. Fault: not_found.
func (m *Manager) Context(ctx context.Context, attemptID string) (c Context, err error) {
	if attemptID, err = parseID("attempt_id", attemptID); err != nil {
		return Context{}, err
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		c, err = readContext(ctx, tx, attemptID)
		return err
	})
	return c, err
}

func readContext(ctx context.Context, tx *store.Tx, attemptID string) (Context, error) {
	a, err := readAttempt(ctx, tx, attemptID)
	if err != nil {
		return Context{}, err
	}
	t, err := readTask(ctx, tx, a.TaskID)
	if err != nil {
		return Context{}, err
	}
	p, err := readProject(ctx, tx, t.ProjectID)
	return Context{Project: p, Task: t, Attempt: a.Attempt}, err
}

// AttemptAt returns the ID of the attempt whose folder contains dir, or "".
func (m *Manager) AttemptAt(ctx context.Context, dir string) (id string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rest, ok := strings.CutPrefix(dir, m.attemptsDir()+string(filepath.Separator))
	if !ok {
		return "", nil
	}
	name, _, _ := strings.Cut(rest, string(filepath.Separator))
	return m.attemptWhere(ctx, "a.dir = ? LIMIT 1", filepath.Join(m.attemptsDir(), name))
}

// AttemptOf returns the ID of the attempt whose running process was given
// token, or "".
func (m *Manager) AttemptOf(ctx context.Context, token string) (id string, err error) {
	if token == "" {
		return "", nil
	}
	return m.attemptWhere(ctx, "a.id = (SELECT p.attempt_id FROM processes p WHERE p.state = 'running' AND p.token = ? LIMIT 1)", tokenDigest(token))
}

func (m *Manager) attemptWhere(ctx context.Context, where string, arg any) (id string, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		found, err := all(ctx, tx, scanAttempt, "SELECT "+attemptColumns+" FROM attempts a WHERE "+where, arg)
		if len(found) > 0 {
			id = found[0].ID
		}
		return err
	})
	return id, err
}

// tokenDigest returns the digest that the store keeps of a token.
func tokenDigest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// attemptsDir returns the folder that contains all attempts. It resolves
// symbolic links, because an agent that asks for its current folder gets a path
// without links.
func (m *Manager) attemptsDir() string {
	dir := filepath.Join(m.options.Dir, "attempts")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return dir // the same error is reported when a worktree is created here
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// Kind is a kind of record that people name by a part of its ID.
type Kind string

// Kinds of records.
const (
	KindProject Kind = "project"
	KindTask    Kind = "task"
	KindAttempt Kind = "attempt"
	KindSession Kind = "session"
)

// Find returns the ID that begins or ends with part; for projects, part may also be
// the name. Faults: not_found, ambiguous_id.
func (m *Manager) Find(ctx context.Context, kind Kind, part string) (string, error) {
	found, err := m.IDs(ctx, kind, part)
	switch {
	case err != nil:
		return "", err
	case len(found) == 1:
		return found[0].ID, nil
	case len(found) == 0:
		return "", refuse(NotFound, "", "there is no %s %q", kind, brief(part))
	}
	return "", refuse(AmbiguousID, "use more of the ID, for example "+found[0].ID+" or "+found[1].ID, "several %ss begin or end with %q", kind, brief(part))
}

// Named is an ID and the name by which people know the record.
type Named struct{ ID, Name string }

// ShortID returns an ID as people read and type it: its last six characters, which are
// random. The first characters are a time, which the records of one minute share. Text
// that is not an ID is returned unchanged.
func ShortID(id string) string {
	if len(id) != 36 {
		return id
	}
	return id[len(id)-shortID:]
}

const (
	shortID   = 6
	leastPart = 4 // an ID's end with fewer characters names nothing
)

// IDs returns the records whose ID begins with part, or else those whose ID ends with
// it: at most 100, newest first. A project's full name selects that project; an empty
// part selects all.
func (m *Manager) IDs(ctx context.Context, kind Kind, part string) (found []Named, err error) {
	query := map[Kind]string{
		KindProject: "SELECT id, name FROM projects WHERE %s ORDER BY created_at DESC, id DESC LIMIT 100",
		KindTask:    "SELECT id, title FROM tasks WHERE %s ORDER BY created_at DESC, id DESC LIMIT 100",
		KindAttempt: "SELECT id, branch FROM attempts WHERE %s ORDER BY created_at DESC, id DESC LIMIT 100",
		KindSession: "SELECT id, executor FROM sessions WHERE %s ORDER BY created_at DESC, id DESC LIMIT 100",
	}[kind]
	if checkText("id", part, maxName) != nil {
		return nil, nil // no record has such an ID or name
	}
	low := strings.ToLower(strings.TrimSpace(part))
	within, args := withinRows(ctx, projectOf[kind])
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if kind == KindProject && low != "" {
			found, err = all(ctx, tx, scanNamed, "SELECT id, name FROM projects WHERE "+within+" AND name = ?", append(args[:len(args):len(args)], strings.TrimSpace(part))...)
			if err != nil || len(found) > 0 {
				return err
			}
		}
		found, err = all(ctx, tx, scanNamed, fmt.Sprintf(query, within+" AND id >= ? AND id < ?"), append(args[:len(args):len(args)], low, low+"g")...) // g sorts after every hex digit and dash
		if err == nil && len(found) == 0 && len(low) >= leastPart && strings.Trim(low, "0123456789abcdef-") == "" {
			found, err = all(ctx, tx, scanNamed, fmt.Sprintf(query, within+" AND id LIKE ?"), append(args, "%"+low)...)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", kind, err)
	}
	return found, nil
}

func scanNamed(row scanner) (n Named, err error) {
	err = row.Scan(&n.ID, &n.Name)
	return n, err
}
