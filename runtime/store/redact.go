package store

import (
	"context"
	"fmt"
)

// Redact replaces the data of all events that have the given topic and key and
// whose data starts with prefix. It is used to delete data that must be
// forgotten. The events keep their sequence numbers. Watchers in running
// processes may still return the old data for a moment.
func (tx *Tx) Redact(ctx context.Context, topic, key, prefix string, data []byte) error {
	s := Redaction(topic, key, prefix, data)
	_, err := tx.Exec(ctx, s.Query, s.Args...)
	if err != nil {
		return fmt.Errorf("redact events of %s: %w", key, err)
	}
	return nil
}

// Redaction returns the statement of [Tx.Redact] for a [Plan].
func Redaction(topic, key, prefix string, data []byte) Statement {
	return Statement{Query: "UPDATE events SET data = ? WHERE topic = ? AND key = ? AND SUBSTR(data, 1, ?) = ?",
		Args: []any{string(data), topic, key, len([]rune(prefix)), prefix}, Rows: -1}
}
