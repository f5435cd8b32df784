package artifact

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/language"
)

// stringTable stores each string once.
type stringTable struct {
	bytes []byte
	at    map[string]uint32
}

func newStringTable() *stringTable {
	return &stringTable{bytes: []byte{0}, at: map[string]uint32{"": 0}}
}

func (t *stringTable) add(s string) uint32 {
	if at, ok := t.at[s]; ok {
		return at
	}
	at := uint32(len(t.bytes))
	t.at[s] = at
	t.bytes = binary.AppendUvarint(t.bytes, uint64(len(s)))
	t.bytes = append(t.bytes, s...)
	return at
}

var errDamaged = errors.New("an offset is outside its section")

// stringAt returns a copy of the string at an offset in a string section.
func stringAt(section []byte, at uint32) (string, error) {
	b, err := bytesAt(section, at)
	return string(b), err
}

// bytesAt returns the same as stringAt, but without copying.
func bytesAt(section []byte, at uint32) ([]byte, error) {
	if int64(at) >= int64(len(section)) {
		return nil, errDamaged
	}
	n, used := binary.Uvarint(section[at:])
	rest := section[at:]
	if used <= 0 || n > uint64(len(rest)-used) {
		return nil, errDamaged
	}
	return rest[used : used+int(n)], nil
}

// fragment returns the part of a chunk ID after the path and "#", or "" if the chunk is
// the whole file.
func fragment(id string) string {
	_, f, _ := strings.Cut(id, "#")
	return f
}

// encodePairs encodes a page's facet values in key order. If the page's language is not
// English, the language comes first, with an empty key. No facet has an empty key.
func encodePairs(m map[string]string, c language.Code) string {
	var b []byte
	if c != language.English {
		b = appendString(appendString(b, ""), string(c))
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = appendString(appendString(b, k), m[k])
	}
	return string(b)
}

func decodePairs(s string) (m map[string]string, c language.Code, err error) {
	m = map[string]string{}
	for s != "" {
		k, rest, ok := cutString(s)
		v, rest, ok2 := cutString(rest)
		if !ok || !ok2 {
			return nil, c, errDamaged
		}
		if s = rest; k == "" {
			c = language.Code(v)
		} else {
			m[k] = v
		}
	}
	return m, c, nil
}

func encodeProblems(problems []chunker.Problem) string {
	var b []byte
	for _, p := range problems {
		b = appendString(binary.AppendUvarint(b, uint64(max(0, p.Line))), p.Reason)
	}
	return string(b)
}

func decodeProblems(s string) ([]chunker.Problem, error) {
	var out []chunker.Problem
	for s != "" {
		line, used := binary.Uvarint([]byte(s[:min(len(s), binary.MaxVarintLen64)]))
		if used <= 0 {
			return nil, errDamaged
		}
		reason, rest, ok := cutString(s[used:])
		if !ok {
			return nil, errDamaged
		}
		out = append(out, chunker.Problem{Line: int(line), Reason: reason})
		s = rest
	}
	return out, nil
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func cutString(s string) (value, rest string, ok bool) {
	n, used := binary.Uvarint([]byte(s[:min(len(s), binary.MaxVarintLen64)]))
	if used <= 0 || n > uint64(len(s)-used) {
		return "", "", false
	}
	return s[used : used+int(n)], s[used+int(n):], true
}
