package store

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	goose "github.com/pressly/goose/v3/database"
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
	behind, err := db.behind(ctx, schemas)
	if err != nil || len(behind) == 0 {
		return err
	}
	return db.dialect.migrationLock(ctx, func(pool *sql.DB) error {
		// Another process may have migrated while this process waited for the lock.
		behind, err := db.behind(ctx, schemas)
		if err != nil {
			return err
		}
		for _, r := range behind {
			if err := r.up(ctx, db.dialect.goose(), pool); err != nil {
				return fmt.Errorf("migrate %s: %w", r.Name, err)
			}
		}
		return nil
	})
}

// stored is a schema whose tables in the store have an older version, or -1 if there are
// none.
type stored struct {
	Schema
	version int64
}

// behind returns the schemas whose tables are not up to date.
func (db *DB) behind(ctx context.Context, schemas []Schema) (behind []stored, err error) {
	for _, r := range schemas {
		want, err := r.newest()
		if err != nil {
			return nil, err
		}
		found := r.found(ctx, db.read)
		if found > want {
			return nil, &NewerError{r.Name, found, want}
		}
		if found < want {
			behind = append(behind, stored{r, found})
		}
	}
	return behind, nil
}

// up executes the migrations after the stored version in one transaction, and notes each in
// the table that goose has for it. goose itself takes a transaction and some queries for each
// migration, which is a third of the CPU time to open a new store (BenchmarkNewStore).
func (r stored) up(ctx context.Context, dialect gooseDialect, pool *sql.DB) error {
	steps, err := r.steps(dialect)
	if err != nil {
		return err
	}
	versions, err := goose.NewStore(dialect, r.table())
	if err != nil {
		return err
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if r.version < 0 {
		if err := versions.CreateVersionTable(ctx, tx); err != nil {
			return err
		}
		steps = append([]step{{}}, steps...) // goose begins with version 0
	}
	for _, s := range steps {
		if s.version <= r.version {
			continue
		}
		if _, err := tx.ExecContext(ctx, s.text); err != nil {
			return fmt.Errorf("version %d: %w", s.version, err)
		}
		if err := versions.Insert(ctx, tx, goose.InsertRequest{Version: s.version}); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// step is a migration.
type step struct {
	version int64
	text    string // one or more statements
}

// steps returns the migrations for one of the databases in their order. What only one of
// them understands is in two files with one number, whose names end in _sqlite and
// _postgres.
func (r Schema) steps(dialect gooseDialect) ([]step, error) {
	other := "_postgres.sql"
	if dialect == goose.DialectPostgres {
		other = "_sqlite.sql"
	}
	files, err := fs.Glob(r.Migrations, "*.sql")
	if err != nil {
		return nil, err
	}
	var steps []step
	for _, name := range files {
		if strings.HasSuffix(name, other) {
			continue
		}
		version, err := versionOf(name)
		if err != nil {
			return nil, err
		}
		text, err := fs.ReadFile(r.Migrations, name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{version, string(text)})
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Compare(a.version, b.version) })
	for i := 1; i < len(steps); i++ {
		if steps[i-1].version == steps[i].version {
			return nil, fmt.Errorf("two migrations have version %d", steps[i].version)
		}
	}
	return steps, nil
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
		v, err := versionOf(f)
		if err != nil {
			return 0, fmt.Errorf("migrations of %s: %w", r.Name, err)
		}
		newest = max(newest, v)
	}
	if newest == 0 {
		return 0, fmt.Errorf("schema %s has no migrations", r.Name)
	}
	return newest, nil
}

// versionOf returns the number that the name of a migration's file begins with.
func versionOf(file string) (int64, error) {
	number, _, _ := strings.Cut(file, "_")
	version, err := strconv.ParseInt(number, 10, 64)
	if err != nil || version < 1 {
		return 0, fmt.Errorf("the name %s does not begin with a version, such as 0001_", file)
	}
	return version, nil
}
