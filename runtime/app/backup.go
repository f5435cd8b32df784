package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
		remove := unmade(place)
		to, err := a.openStore(ctx, place)
		if err != nil {
			remove()
			if fault.Of(err) == nil && !errors.As(err, new(*store.NewerError)) {
				err = fault.New("bad_target", err.Error(), "pass with --to a folder that you can write, or the postgres:// URL of a database")
			}
			return err
		}
		r, err = backup.Copy(ctx, from, to, replace)
		to.Close()
		if err != nil {
			remove()
		}
		return err
	})
	return r, err
}

// unmade returns a function that removes the store in a folder if the folder has none now.
func unmade(place string) func() {
	if store.IsPostgres(place) {
		return func() {}
	}
	_, folder := os.Lstat(place)
	if _, err := os.Lstat(filepath.Join(place, store.SQLiteFile)); !errors.Is(err, fs.ErrNotExist) {
		return func() {}
	}
	return func() {
		for _, name := range []string{store.SQLiteFile, store.SQLiteFile + "-wal", store.SQLiteFile + "-shm", "migrate.lock"} {
			os.Remove(filepath.Join(place, name))
		}
		if errors.Is(folder, fs.ErrNotExist) {
			os.Remove(place) // only if it is empty
		}
	}
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
