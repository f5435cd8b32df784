package logs

import (
	"bytes"
	_ "embed" // for keys.json
	"encoding/json"
	"regexp"
	"slices"
	"sync"
)

// Redactor removes given secret values, and text that looks like a key. It may
// be used concurrently. A nil Redactor removes nothing.
type Redactor struct {
	values [][]byte // longest first
}

// shortest is the minimum length in bytes of a value to remove. Shorter values occur in
// any text.
const shortest = 8

var redacted = []byte("[redacted]")

// NewRedactor returns a Redactor for the given secret values, for example those
// of environment variables. Values of fewer than 8 bytes are ignored.
func NewRedactor(values []string) *Redactor {
	r := &Redactor{}
	add := func(v []byte) {
		if len(v) >= shortest && !slices.ContainsFunc(r.values, func(o []byte) bool { return bytes.Equal(o, v) }) {
			r.values = append(r.values, v)
		}
	}
	for _, v := range values {
		add([]byte(v))
		if quoted, err := marshal(v); err == nil { // the value as it appears inside JSON
			add(quoted[1 : len(quoted)-1])
		}
	}
	slices.SortFunc(r.values, func(a, b []byte) int { return len(b) - len(a) })
	return r
}

// key describes the format of a well-known kind of key.
type key struct {
	// Name is the key's common name.
	Name string `json:"name"`
	// Mark is text that each such key contains. It is searched for first,
	// because that is much cheaper than matching the pattern.
	Mark    string `json:"mark"`
	Pattern string `json:"pattern"`
	// Example is the end of the example key in the documentation.
	Example string `json:"example"`
	// OnlyLogs reports whether such text is common in source code without being
	// a key. It is then removed only from logs.
	OnlyLogs bool `json:"only_logs"`

	mark    []byte
	pattern func() *regexp.Regexp // compiles the pattern when it is first needed
}

//go:embed keys.json
var keysFile []byte

// keys lists the known formats. Their patterns match in plain text and inside
// JSON, where a key can directly follow the n of an escaped newline. A private
// key extends to the end of the text or of the JSON string.
var keys = sync.OnceValue(func() (list []key) {
	if err := json.Unmarshal(keysFile, &list); err != nil {
		panic(err) // cannot happen: a test covers this file
	}
	for i, k := range list {
		list[i].mark = []byte(k.Mark)
		list[i].pattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(k.Pattern) })
	}
	return list
})

// Finds describes a secret in text that is about to be committed, or returns "" if
// there is none.
func (r *Redactor) Finds(text []byte) string {
	if r != nil {
		for _, v := range r.values {
			if bytes.Contains(text, v) {
				return "the value of a secret that the agent was given"
			}
		}
	}
	for _, k := range keys() {
		if k.OnlyLogs || !bytes.Contains(text, k.mark) {
			continue
		}
		for _, at := range k.pattern().FindAllIndex(text, 10) {
			inside := at[0] > 0 && partOfWord(text[at[0]-1]) // a match inside a word, for example in encoded data
			if !inside && (k.Example == "" || !bytes.HasSuffix(text[at[0]:at[1]], []byte(k.Example))) {
				return "what looks like " + k.Name
			}
		}
	}
	return ""
}

func partOfWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '/' || c == '+'
}

// Redact returns text without secrets. If there are none, it returns text
// itself.
func (r *Redactor) Redact(text []byte) []byte {
	if r == nil {
		return text
	}
	for _, v := range r.values {
		if bytes.Contains(text, v) {
			text = bytes.ReplaceAll(text, v, redacted)
		}
	}
	for _, k := range keys() {
		if bytes.Contains(text, k.mark) {
			text = k.pattern().ReplaceAll(text, redacted)
		}
	}
	return text
}

// held returns how many bytes at the end of text could be the start of a secret
// value.
func (r *Redactor) held(text []byte) int {
	if r == nil {
		return 0
	}
	most := 0
	for _, v := range r.values {
		for n := min(len(v)-1, len(text)); n > most; n-- {
			if bytes.HasSuffix(text, v[:n]) {
				most = n
				break
			}
		}
	}
	return most
}

// keyLine reports whether a line belongs to a private key that spans several
// lines, and whether the next line does too.
func keyLine(line []byte, inside bool) (of, next bool) {
	begins := bytes.Contains(line, []byte("-----BEGIN ")) && bytes.Contains(line, []byte("PRIVATE KEY-----"))
	ends := bytes.Contains(line, []byte("-----END "))
	return inside, (inside || begins) && !ends
}
