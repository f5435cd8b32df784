package store

import (
	"context"
	"fmt"
)

// Redact replaces the data of every event of topic and key whose data begins
// with prefix, to delete what must be forgotten. The events keep their numbers.
// Watchers in a running process may still return the old data for a moment.
func (tx *Tx) Redact(ctx context.Context, topic, key, prefix string, data []byte) error {
	_, err := tx.Exec(ctx, "UPDATE events SET data = ? WHERE topic = ? AND key = ? AND SUBSTR(data, 1, ?) = ?",
		string(data), topic, key, len([]rune(prefix)), prefix)
	if err != nil {
		return fmt.Errorf("redact events of %s: %w", key, err)
	}
	return nil
}
