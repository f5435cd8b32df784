package app

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/audit"
	"github.com/deskhand/deskhand/runtime/store"
)

// AuditLog calls f with the records that a filter selects. If follow is set, it continues
// with new ones until ctx ends.
func (a *App) AuditLog(ctx context.Context, filter store.AuditFilter, follow bool, f func(store.Record) error) error {
	db, err := a.Store(ctx)
	if err != nil {
		return err
	}
	if follow {
		return audit.Follow(ctx, db, filter, f)
	}
	records, err := db.AuditLog(ctx, filter)
	for _, r := range records {
		if err := f(r); err != nil {
			return err
		}
	}
	return err
}

// PruneAudit deletes the records of the audit log that are older than the given time.
func (a *App) PruneAudit(ctx context.Context, before time.Time) (int64, error) {
	db, err := a.Store(ctx)
	if err != nil {
		return 0, err
	}
	return db.PruneAudit(ctx, before)
}

// exportAudit sends the audit log to syslog while the server runs, if that is configured.
func (s *server) exportAudit(ctx context.Context) error {
	target, err := s.config.Syslog.Get()
	if err != nil || target == nil {
		return err
	}
	s.background.Go(func() {
		if !s.storeComes(ctx) {
			return
		}
		db, err := s.Store(ctx)
		if err != nil {
			s.log.Error("cannot send the audit log", "error", err)
			return
		}
		audit.Export(ctx, db, *target, s.log)
	})
	return nil
}
