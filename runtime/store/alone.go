package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// InUseError reports that other processes have the store open.
type InUseError struct {
	Place string
	// Who lists the processes as far as they are known, for example "process 4711
	// (deskhand serve)".
	Who []string
}

func (e *InUseError) Error() string {
	text := "other processes have the store " + e.Place + " open"
	if len(e.Who) > 0 {
		text += ": " + strings.Join(e.Who, ", ")
	}
	return text
}

// aloneWait is how long Alone waits for other processes, which may be about to end.
const aloneWait = time.Second

// Alone returns an [*InUseError] if another process has the store open. On SQLite, no
// other process can open the store afterwards until this one closes it. On PostgreSQL,
// others can connect, but wait while an Update runs. After Alone, use only [DB.Update].
// No other goroutine may use the store.
func (db *DB) Alone(ctx context.Context) error {
	inUse := &InUseError{Place: db.place}
	for end := time.Now().Add(aloneWait); ; sleep(ctx, 50*time.Millisecond) {
		var err error
		switch s := db.dialect.(type) {
		case *sqliteStore:
			if err = s.alone(ctx); err == nil {
				db.pools = append(db.pools, s.writer)
			} else if busy(err) {
				err, inUse.Who = inUse, openedBy(filepath.Join(s.folder, SQLiteFile))
			}
		case *postgresStore:
			if inUse.Who, err = s.connected(ctx); err == nil && len(inUse.Who) > 0 {
				err = inUse
			}
		}
		if !errors.Is(err, inUse) || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
	}
}

// alone closes this process's connections and replaces the writer with one that locks
// the file exclusively while it is open. A connection with this mode fails while any
// other connection is open, because each holds a shared lock.
func (s *sqliteStore) alone(ctx context.Context) error {
	for _, pool := range []*sql.DB{s.others, s.reader, s.writer} {
		pool.SetMaxIdleConns(0)
	}
	w, err := openFile(filepath.Join(s.folder, SQLiteFile), 1, "_pragma=locking_mode(EXCLUSIVE)", "_txlock=immediate",
		"_pragma=busy_timeout(10)", "_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	tx, err := w.BeginTx(ctx, nil)
	if err != nil {
		w.Close()
		return err
	}
	if err := tx.Rollback(); err != nil {
		w.Close()
		return err
	}
	s.writer, s.firm = w, true
	return nil
}

// connected describes the other processes of deskhand that are connected to the database.
func (s *postgresStore) connected(ctx context.Context) (who []string, err error) {
	s.others.SetMaxIdleConns(0)
	defer s.others.SetMaxIdleConns(maxLanes)
	rows, err := s.first.QueryContext(ctx, `SELECT DISTINCT application_name, COALESCE(host(client_addr), '') FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()
		AND (application_name LIKE '`+applicationName+` %' OR application_name = current_setting('application_name'))
		ORDER BY 1, 2`)
	if err != nil {
		return nil, fmt.Errorf("list connections: %w", err)
	}
	defer rows.Close()
	own := ownName()
	for rows.Next() {
		var name, address string
		if err := rows.Scan(&name, &address); err != nil {
			return nil, fmt.Errorf("list connections: %w", err)
		}
		if name == own {
			continue
		}
		if address != "" {
			name += " at " + address
		}
		who = append(who, name)
	}
	return who, rows.Err()
}

// applicationName begins the name under which PostgreSQL lists a connection, unless the
// URL sets another.
const applicationName = "deskhand"

// ownName is the name of this process's connections: it tells the host and the process.
// Two containers may agree in both, so it also has random characters.
var ownName = sync.OnceValue(func() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s %.30s process %d (%.4s)", applicationName, host, os.Getpid(), rand.Text())
})

// openedBy describes the other processes of this machine that have a file open, as far as
// the system tells it. Only Linux does, and only of the same user's processes.
func openedBy(file string) (who []string) {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != file {
			continue
		}
		pid := strings.Split(link, "/")[2]
		if pid == strconv.Itoa(os.Getpid()) {
			continue
		}
		who = append(who, "process "+pid+commandOf(pid))
	}
	slices.Sort(who)
	return slices.Compact(who)
}

// commandOf returns the program and the command of a process, without its arguments, which
// may hold secrets.
func commandOf(pid string) string {
	text, err := os.ReadFile("/proc/" + pid + "/cmdline")
	words := strings.Split(string(text), "\x00")
	if err != nil || words[0] == "" {
		return ""
	}
	name := filepath.Base(words[0])
	if len(words) > 1 && roomName.MatchString(words[1]) {
		name += " " + words[1]
	}
	return " (" + name + ")"
}
