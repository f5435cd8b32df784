// Package backup copies a whole store: to a file, from a file, and from one database to
// another.
//
// A backup is a SQLite file with the tables of the store and one more, which lists each
// table's rows and digest. It is the same whichever database the store is in. Each copy is
// read in one snapshot and written in one transaction, in which the rows that were written
// are read again and compared.
package backup

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Codes of faults.
const (
	Exists   = "backup_exists"   // the file for a backup is already there
	NoFolder = "no_folder"       // the folder for a backup does not exist
	NoBackup = "not_a_backup"    // the file is no backup, or an unreadable one
	Damaged  = "backup_damaged"  // the file's rows are not those that were backed up
	Newer    = "backup_newer"    // a newer release wrote the file
	NotEmpty = "store_not_empty" // the target has rows, and replacing them was not asked for
	InUse    = "store_in_use"    // other processes have the store open
	Same     = "same_store"      // source and target are one store
	Differs  = "copy_differs"    // the rows that were written are not those that were read
)

// Open opens a store and migrates it to the tables of this release.
type Open func(ctx context.Context, place string) (*store.DB, error)

// Table is what was copied of one table.
type Table struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
	// Digest is the sum of the SHA-256 digests of the rows, in hexadecimal. It does not
	// depend on their order.
	Digest string `json:"digest"`
}

// Report is the result of a copy. Its JSON is the output of deskhand store.
type Report struct {
	From   string    `json:"from"`
	To     string    `json:"to"`
	At     time.Time `json:"at"` // the time of the state that was copied
	Rows   int64     `json:"rows"`
	Tables []Table   `json:"tables"`
}

// manifest is the content of the only row of manifestTable.
type manifest struct {
	Deskhand string           `json:"deskhand"` // version that wrote the backup
	Schemas  map[string]int64 `json:"schemas"`
	Report
}

// manifestTable is the table that a backup has in addition to those of a store.
const manifestTable = "deskhand_backup"

// Write backs a store up to a new file that only its owner can read. The store may be
// written meanwhile: the backup has the state of one moment. The file appears when it is
// complete. version is this program's.
func Write(ctx context.Context, db *store.DB, open Open, file, version string) (r Report, err error) {
	if file == "" {
		return r, fault.Misuse("the name of the backup is empty", "write the name of a new file")
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fault.New(Exists, file+" already exists", "choose another name, or delete it first")
		}
		return r, err
	}
	work, err := os.MkdirTemp(filepath.Dir(file), "."+filepath.Base(file)+".part-")
	if errors.Is(err, fs.ErrNotExist) {
		return r, fault.New(NoFolder, "there is no folder "+filepath.Dir(file), "create it, or choose another name")
	}
	if err != nil {
		return r, fmt.Errorf("create backup: %w", err)
	}
	defer os.RemoveAll(work)
	to, err := open(ctx, work)
	if err != nil {
		return r, fmt.Errorf("create backup: %w", err)
	}
	defer to.Close()
	err = db.View(ctx, func(source *store.Tx) error {
		return to.Update(ctx, func(target *store.Tx) error {
			r = Report{From: db.Place(), To: file, At: source.Now}
			if err := move(ctx, source, target, &r); err != nil {
				return err
			}
			return sign(ctx, target, r, version)
		})
	})
	if err == nil {
		err = to.Seal(ctx)
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return r, err
	}
	if err := settle(to.File(), file); err != nil {
		return r, err
	}
	return r, db.Audit(ctx, store.Record{Action: "store.backed-up", Object: file})
}

// sign writes the manifest.
func sign(ctx context.Context, tx *store.Tx, r Report, version string) error {
	m := manifest{Deskhand: version, Report: r}
	var err error
	if m.Schemas, err = tx.Versions(ctx); err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	if _, err := tx.Exec(ctx, "CREATE TABLE "+manifestTable+" (data TEXT NOT NULL)"); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	if _, err := tx.Exec(ctx, "INSERT INTO "+manifestTable+" (data) VALUES (?)", string(text)); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

// settle moves a complete file to its final name, durably.
func settle(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("name backup: %w", err)
	}
	if dir, err := os.Open(filepath.Dir(to)); err == nil {
		_ = dir.Sync() // not every system can
		dir.Close()
	}
	return nil
}

// Restore replaces the content of a store with that of a backup, or leaves it as it was.
// The store must have no rows yet unless replace is set, and no other process may have it
// open.
func Restore(ctx context.Context, db *store.DB, open Open, file string, replace bool) (r Report, err error) {
	m, from, err := read(ctx, file)
	if err != nil {
		return r, err
	}
	defer func() { from.Close() }()
	var known map[string]int64
	if err := db.Update(ctx, func(tx *store.Tx) error { known, err = tx.Versions(ctx); return err }); err != nil {
		return r, err
	}
	older, err := m.fits(known)
	if err != nil {
		return r, err
	}
	if older {
		from.Close()
		migrated, remove, err := migrate(ctx, open, file)
		if err != nil {
			return r, err
		}
		defer remove()
		from = migrated
	}
	if err := alone(ctx, db); err != nil {
		return r, err
	}
	r = Report{From: file, To: db.Place(), At: m.At}
	return r, from.View(ctx, func(source *store.Tx) error {
		return db.Update(ctx, func(target *store.Tx) error { return into(ctx, source, target, &r, replace) })
	})
}

// read opens a backup and compares its rows with its manifest.
func read(ctx context.Context, file string) (m manifest, db *store.DB, err error) {
	if _, err := os.Stat(file); err != nil {
		return m, nil, fault.New(NoBackup, fmt.Sprintf("cannot read %s: %v", file, errors.Unwrap(err)), "pass a file that deskhand store backup wrote")
	}
	none := fault.New(NoBackup, file+" is not a backup", "pass a file that deskhand store backup wrote; to use a copy of a state folder, pass it with --state")
	if db, err = store.Peek(ctx, file); err != nil {
		return m, nil, none
	}
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	return m, db, db.View(ctx, func(tx *store.Tx) error {
		var text string
		if err := tx.QueryRow(ctx, "SELECT data FROM "+manifestTable).Scan(&text); err != nil || json.Unmarshal([]byte(text), &m) != nil {
			return none
		}
		return m.matches(ctx, tx, file)
	})
}

// matches returns a fault if the rows are not those of the manifest.
func (m manifest) matches(ctx context.Context, tx *store.Tx, file string) error {
	damaged := func(what string) error {
		return fault.New(Damaged, file+" is damaged: "+what, "use another backup")
	}
	tables, err := tx.Tables(ctx)
	if err != nil {
		return damaged(err.Error())
	}
	tables = slices.DeleteFunc(tables, func(t store.Table) bool { return t.Name == manifestTable })
	if len(tables) != len(m.Tables) {
		return damaged(fmt.Sprintf("it has %d tables instead of %d", len(tables), len(m.Tables)))
	}
	for i, t := range tables {
		found, err := digest(ctx, tx, t)
		if err != nil {
			return damaged(err.Error())
		}
		if found != m.Tables[i] {
			return damaged(fmt.Sprintf("the table %s has %d rows with the digest %.12s instead of %d with %.12s", t.Name, found.Rows, found.Digest, m.Tables[i].Rows, m.Tables[i].Digest))
		}
	}
	return nil
}

// fits reports whether the backup has older tables than this release, which knows the
// given versions. It refuses newer ones.
func (m manifest) fits(known map[string]int64) (older bool, err error) {
	for name, v := range m.Schemas {
		if v > known[name] {
			return false, fault.New(Newer, fmt.Sprintf("deskhand %s wrote the backup, and its tables are newer (%s schema %d; this version supports %d)", m.Deskhand, name, v, known[name]),
				"restore it with deskhand "+m.Deskhand+" or a newer version")
		}
	}
	for name, v := range known {
		older = older || m.Schemas[name] < v
	}
	return older, nil
}

// migrate copies a backup and brings its tables up to date. remove closes and deletes the
// copy.
func migrate(ctx context.Context, open Open, file string) (db *store.DB, remove func(), err error) {
	work, err := os.MkdirTemp("", "deskhand-restore-")
	if err != nil {
		return nil, nil, fmt.Errorf("copy backup: %w", err)
	}
	if err = duplicate(file, filepath.Join(work, store.SQLiteFile)); err == nil {
		db, err = open(ctx, work)
	}
	if err != nil {
		os.RemoveAll(work)
		return nil, nil, fmt.Errorf("update the backup's tables: %w", err)
	}
	return db, func() { db.Close(); os.RemoveAll(work) }, nil
}

func duplicate(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Copy copies a store into another one, under the conditions of [Restore]. No other
// process may have the source open either: what it wrote afterwards would be missing from
// the copy.
func Copy(ctx context.Context, from, to *store.DB, replace bool) (r Report, err error) {
	if from.Place() == to.Place() {
		return r, fault.New(Same, "the store is already at "+to.Place(), "pass another folder or database")
	}
	for _, db := range []*store.DB{from, to} {
		if err := alone(ctx, db); err != nil {
			return r, err
		}
	}
	err = from.Update(ctx, func(source *store.Tx) error {
		r = Report{From: from.Place(), To: to.Place(), At: source.Now}
		return to.Update(ctx, func(target *store.Tx) error { return into(ctx, source, target, &r, replace) })
	})
	return r, err
}

// alone converts an [store.InUseError] to a fault.
func alone(ctx context.Context, db *store.DB) error {
	err := db.Alone(ctx)
	if used := new(store.InUseError); errors.As(err, &used) {
		return fault.New(InUse, used.Error(), "stop them, then retry; only store backup works while the store is in use")
	}
	return err
}

// into copies all rows into a store that is empty or may be emptied.
func into(ctx context.Context, source, target *store.Tx, r *Report, replace bool) error {
	if !replace {
		if err := empty(ctx, target, r.To); err != nil {
			return err
		}
	}
	var before, after int64
	if err := target.QueryRow(ctx, "SELECT COUNT(*) FROM audit").Scan(&before); err != nil {
		return fmt.Errorf("count audit log: %w", err)
	}
	if err := move(ctx, source, target, r); err != nil {
		return err
	}
	if err := target.QueryRow(ctx, "SELECT COUNT(*) FROM audit").Scan(&after); err != nil {
		return fmt.Errorf("count audit log: %w", err)
	}
	return target.Audit(store.Record{Action: "store.replaced", Object: r.From,
		Detail: fmt.Sprintf("%d rows of %s; the audit log had %d records before and %d after", r.Rows, r.At.Format(time.RFC3339), before, after)})
}

// passing are the tables that a store may have rows in before anybody has used it: those
// of the migrations, and those that a server writes by itself.
var passing = []string{"feed", "events", "leases", "audit"}

// empty returns a fault if a table has rows that somebody would miss.
func empty(ctx context.Context, tx *store.Tx, place string) error {
	tables, err := tx.Tables(ctx)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if slices.Contains(passing, t.Name) {
			continue
		}
		var one int
		switch err := tx.QueryRow(ctx, "SELECT 1 FROM "+quoted(t.Name)+" LIMIT 1").Scan(&one); {
		case err == nil:
			return fault.New(NotEmpty, "the store "+place+" is not empty: it has rows in the table "+t.Name, "pass --replace to delete all that it holds")
		case !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("read %s: %w", t.Name, err)
		}
	}
	return nil
}
