package store

import "context"

// Poll is the reading that [sqliteStore.poll] repeats.
func Poll(db *DB) (func() error, error) {
	query, err := db.read.Prepare("PRAGMA data_version")
	return func() error {
		var version int64
		return query.QueryRowContext(context.Background()).Scan(&version)
	}, err
}
