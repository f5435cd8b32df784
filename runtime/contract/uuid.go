package contract

import (
	"encoding/json"
	"regexp"
	"time"
)

// uuidPattern matches a UUID, and visiblePattern matches text with a visible
// character. Both are in published schemas, so a client's validator rejects the
// same values as Define.
const (
	uuidPattern    = `^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`
	visiblePattern = `\S`
)

var isUUID = regexp.MustCompile(uuidPattern)

// UUID is a string that [Schema] describes as a UUID.
type UUID string

// Time is a time on the wire: RFC 3339 in UTC with milliseconds.
type Time struct{ time.Time }

// MarshalJSON implements [json.Marshaler].
func (t Time) MarshalJSON() ([]byte, error) {
	return json.Marshal(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}
