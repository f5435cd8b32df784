package app

import (
	"context"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/backup"
)

// Backup writes the store to a file; see [backup.Write].
func (a *App) Backup(ctx context.Context, file string) (r backup.Report, err error) {
	err = a.withStore(ctx, func(db *store.DB) error {
		r, err = backup.Write(ctx, db, a.openStore, file, a.config.Version)
		return err
	})
	return r, err
}

// Restore replaces the store with a backup; see [backup.Restore].
func (a *App) Restore(ctx context.Context, file string, replace bool) (r backup.Report, err error) {
	err = a.withStore(ctx, func(db *store.DB) error {
		r, err = backup.Restore(ctx, db, a.openStore, file, replace)
		return err
	})
	return r, err
}

// CopyStore copies the store to another place, which is a folder or a postgres:// URL; see
// [backup.Copy].
func (a *App) CopyStore(ctx context.Context, place string, replace bool) (r backup.Report, err error) {
	if scheme, _, is := strings.Cut(place, "://"); is && !store.IsPostgres(place) {
		return r, fault.Misuse("a store cannot be at a "+scheme+":// address", "pass a folder or a postgres:// URL")
	}
	err = a.withStore(ctx, func(from *store.DB) error {
		to, err := a.openStore(ctx, place)
		if err != nil {
			return err
		}
		defer to.Close()
		r, err = backup.Copy(ctx, from, to, replace)
		return err
	})
	return r, err
}

// withStore opens the store for f alone: nothing else in this process uses it.
func (a *App) withStore(ctx context.Context, f func(*store.DB) error) error {
	place, err := a.config.Place.Get()
	if err != nil {
		return err
	}
	db, err := a.openStore(ctx, place)
	if err != nil {
		return err
	}
	defer db.Close()
	return f(db)
}
