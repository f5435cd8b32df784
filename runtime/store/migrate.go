package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/pressly/goose/v3"
)

type gooseDialect = goose.Dialect

//go:embed migrations/*.sql
var migrations embed.FS

// ownSchema holds the feed's tables.
var ownSchema = NewSchema("store", migrations)

// NewerError reports that a newer deskhand has changed the store's schema.
type NewerError struct {
	Schema       string
	Found, Known int64
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("a newer deskhand has changed it (%s schema %d; this version supports %d): use that version, or another state folder",
		e.Schema, e.Found, e.Known)
}

// migrate brings the tables of schemas up to date. If they are up to date
// already, it only reads. That takes less than a millisecond and no lock.
func (db *DB) migrate(ctx context.Context, schemas []Schema) error {
	var behind []Schema
	for _, r := range schemas {
		want, err := r.newest()
		if err != nil {
			return err
		}
		found := r.found(ctx, db.read)
		if found > want {
			return &NewerError{r.Name, found, want}
		}
		if found < want {
			behind = append(behind, r)
		}
	}
	if len(behind) == 0 {
		return nil
	}
	return db.dialect.migrationLock(ctx, func(pool *sql.DB) error {
		for _, r := range behind {
			if want, err := r.newest(); err == nil && r.found(ctx, db.read) == want {
				continue // another process migrated the schema while this process waited for the lock
			}
			if err := r.up(ctx, db, pool); err != nil {
				return fmt.Errorf("migrate %s: %w", r.Name, err)
			}
		}
		return nil
	})
}

// steps returns the migrations for one of the databases. What only one of them
// understands is in two files with one number, whose names end in _sqlite and _postgres.
//
// The database reads a file as it is, because goose's own parser of files takes 4 MB
// for each line.
func (r Schema) steps(dialect gooseDialect) ([]*goose.Migration, error) {
	other := "_postgres.sql"
	if dialect == goose.DialectPostgres {
		other = "_sqlite.sql"
	}
	files, err := fs.Glob(r.Migrations, "*.sql")
	if err != nil {
		return nil, err
	}
	var steps []*goose.Migration
	for _, name := range files {
		if strings.HasSuffix(name, other) {
			continue
		}
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(r.Migrations, name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, string(text))
			return err
		}}, nil))
	}
	return steps, nil
}

func (r Schema) up(ctx context.Context, db *DB, pool *sql.DB) error {
	steps, err := r.steps(db.dialect.goose())
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(db.dialect.goose(), pool, nil, goose.WithGoMigrations(steps...),
		goose.WithTableName(r.table()), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	found, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if found > want { // a newer process has migrated it in the meantime
		return &NewerError{r.Name, found, want}
	}
	_, err = p.Up(ctx)
	return err
}

// versionsPrefix begins the names of the tables that hold the schemas' versions.
const versionsPrefix = "schema_"

func (r Schema) table() string { return versionsPrefix + r.Name }

// found returns the schema version of the stored tables, or -1 if the version
// cannot be read, for example in a new store. The migration then reports any
// error.
func (r Schema) found(ctx context.Context, pool *sql.DB) int64 {
	var v sql.NullInt64
	err := pool.QueryRowContext(ctx, "SELECT MAX(version_id) FROM "+r.table()).Scan(&v)
	if err != nil || !v.Valid {
		return -1
	}
	return v.Int64
}

var roomName = regexp.MustCompile(`^[a-z]+$`)

// newest returns the version of the last migration file.
func (r Schema) newest() (int64, error) {
	if !roomName.MatchString(r.Name) {
		return 0, fmt.Errorf("schema %q: a name consists of the letters a-z", r.Name)
	}
	files, err := fs.Glob(r.Migrations, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("list migrations of %s: %w", r.Name, err)
	}
	var newest int64
	for _, f := range files {
		v, err := goose.NumericComponent(f)
		if err != nil {
			return 0, fmt.Errorf("migration %s of %s: %w", f, r.Name, err)
		}
		newest = max(newest, v)
	}
	if newest == 0 {
		return 0, fmt.Errorf("schema %s has no migrations", r.Name)
	}
	return newest, nil
}
