package tasks

import (
	"context"
	"testing"
	"time"
)

// HostID returns the ID of a manager's machine.
func HostID(m *Manager) string { return m.host }

// Folder returns a manager's folder.
func Folder(m *Manager) string { return m.options.Dir }

// MaxBundles is maxBundles.
const MaxBundles = maxBundles

// SetMaxShared sets the limit of the store for a test.
func SetMaxShared(t *testing.T, bytes int64) {
	before := maxShared
	maxShared = bytes
	t.Cleanup(func() { maxShared = before })
}

// SetShareTerm sets how long sharing may take for a test.
func SetShareTerm(t *testing.T, term time.Duration) {
	before := shareTerm
	shareTerm = term
	t.Cleanup(func() { shareTerm = before })
}

// ShareNow shares an attempt's branches.
func ShareNow(m *Manager, attemptID string) { m.shareNow(context.Background(), attemptID) }
