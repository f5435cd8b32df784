package store

import (
	"context"
	"fmt"
)

// Redact replaces the data of the events of a key whose data begins with
// prefix, for what is to be forgotten. The events keep their numbers; watchers
// in a running process may still get the old data for a moment.
func (tx *Tx) Redact(ctx context.Context, topic, key, prefix string, data []byte) error {
	_, err := tx.Exec(ctx, "UPDATE events SET data = ? WHERE topic = ? AND key = ? AND SUBSTR(data, 1, ?) = ?",
		string(data), topic, key, len([]rune(prefix)), prefix)
	if err != nil {
		return fmt.Errorf("redact events of %s: %w", key, err)
	}
	return nil
}
