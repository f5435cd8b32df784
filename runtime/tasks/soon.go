package tasks

import (
	"context"
	"errors"

	"github.com/deskhand/deskhand/runtime/store"
)

// errSoon is of the methods whose rooms below are not there yet.
var errSoon = errors.New("not built yet")

// Executors are the agents that are known here, installed or not.
func (m *Manager) Executors(ctx context.Context) ([]Executor, error) { return nil, errSoon }

// Logs reads a page of a log.
func (m *Manager) Logs(ctx context.Context, q LogQuery) (LogPage, error) { return LogPage{}, errSoon }

// Run is what a runner process does: it claims the process and ends with the
// last one that follows from it. It returns nil if another runner was faster.
func (m *Manager) Run(ctx context.Context, processID string) error { return errSoon }

func deleteLog(ctx context.Context, tx *store.Tx, processID string) error { return nil }

func (m *Manager) recoverLog(ctx context.Context, p process) error { return nil }
