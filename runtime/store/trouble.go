package store

import (
	"database/sql/driver"
	"errors"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// Trouble describes why the store cannot be used now, for people and programs.
// Its strings contain no paths, because a caller need not know the paths.
type Trouble struct {
	Code    string // identifier for programs
	Message string
	Hint    string // what to do next
	Passing bool   // whether the problem may be over in a moment
}

var (
	locked  = Trouble{"store_locked", "another process has locked the store", "retry in a moment; if it stays locked, check whether a deskhand process is suspended", true}
	full    = Trouble{"store_full", "the disk that holds the store is full", "free disk space, then retry", false}
	guarded = Trouble{"store_read_only", "the store cannot be written", "check the permissions of its folder (\"deskhand config\" shows the path), then retry", false}
	sealed  = Trouble{"store_read_only", "the state folder is read-only", "make it writable for this user, or copy it and pass the copy with --state; otherwise, questions and tasks can be read only while a deskhand with write permission is running", false}
	shut    = Trouble{"store_away", "the store's file cannot be opened", "check its folder (\"deskhand config\" shows the path): it must exist, and this user must be able to read and write it", true}
	damaged = Trouble{"store_damaged", "the store is damaged", "restore its folder from a backup, or move deskhand.db away to start with an empty store", false}
	away    = Trouble{"store_away", "the store's database cannot be reached", "retry in a moment; if it still fails, check the database in the output of \"deskhand config\"", true}
	changed = Trouble{"store_newer", "a newer deskhand has changed the store since this process opened it", "restart this process with that version; what was stored is there, and a repeated call finds its question", false}
	newer   = Trouble{"store_newer", "a newer deskhand has changed the store", "use that version, or another state folder", false}
)

// sqliteTroubles maps the low byte of a SQLite result code to a Trouble.
var sqliteTroubles = map[int]Trouble{
	5: locked, 6: locked, 8: guarded, 10: away, 11: damaged, 13: full, 14: shut, 26: damaged,
}

// unknownName matches the message of SQLite's general error for a column or table that is not
// there.
var unknownName = regexp.MustCompile(`no such (column|table)|has no column named`)

// postgresTroubles maps prefixes of PostgreSQL error codes to a Trouble. The
// first prefix that matches applies.
var postgresTroubles = []struct {
	code    string
	trouble Trouble
}{
	{"53100", full}, {"25006", guarded}, {"55P03", locked}, {"XX00", damaged},
	{"42703", changed}, {"42P01", changed}, // an unknown column, an unknown table
	{"08", away}, {"28", away}, {"3D", away}, {"53", away}, {"57P", away},
}

// errFolder is the error of a store whose folder cannot be made.
var errFolder = errors.New("create folder")

// TroubleOf returns the Trouble that err stands for, or false if err does not
// mean that the store is unusable.
func TroubleOf(err error) (Trouble, bool) {
	var lite *sqlite.Error
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, ErrSlow):
		return away, true
	case errors.As(err, new(*NewerError)):
		return newer, true
	case errors.Is(err, errFolder):
		return shut, true
	case errors.As(err, new(*ReadOnlyError)):
		return sealed, true
	case errors.As(err, &lite):
		if lite.Code() == 1 && unknownName.MatchString(lite.Error()) {
			return changed, true
		}
		t, ok := sqliteTroubles[lite.Code()&0xff]
		return t, ok
	case errors.As(err, &pg):
		for _, one := range postgresTroubles {
			if strings.HasPrefix(pg.Code, one.code) {
				return one.trouble, true
			}
		}
	case errors.As(err, new(*pgconn.ConnectError)), errors.Is(err, driver.ErrBadConn):
		return away, true
	}
	return Trouble{}, false
}
