package logs

import (
	"bytes"
	_ "embed" // of keys.json
	"encoding/json"
	"regexp"
	"slices"
)

// Redactor removes secrets: given values, and text that looks like a key. It
// may be used concurrently. A nil Redactor removes nothing.
type Redactor struct {
	values [][]byte // longest first
}

// shortest is how long a value must be to be taken out: shorter ones are in
// every text.
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
		if quoted, err := marshal(v); err == nil { // as it is inside JSON
			add(quoted[1 : len(quoted)-1])
		}
	}
	slices.SortFunc(r.values, func(a, b []byte) int { return len(b) - len(a) })
	return r
}

// key is the shape of a well-known key.
type key struct {
	// Name is what people call it.
	Name string `json:"name"`
	// Mark is looked for first: a search for a constant is much cheaper than a
	// pattern.
	Mark    string `json:"mark"`
	Pattern string `json:"pattern"`
	// Example is the end of a key that documentation shows.
	Example string `json:"example"`
	// OnlyLogs: such text is common in sources, and no key there.
	OnlyLogs bool `json:"only_logs"`

	mark    []byte
	pattern *regexp.Regexp
}

//go:embed keys.json
var keysFile []byte

// keys match in plain text and inside JSON alike, where a key can stand right
// behind the n of a newline. A private key goes up to the end of the text, or of
// the JSON string.
var keys = func() (list []key) {
	if err := json.Unmarshal(keysFile, &list); err != nil {
		panic(err) // a test reads it
	}
	for i, k := range list {
		list[i].mark, list[i].pattern = []byte(k.Mark), regexp.MustCompile(k.Pattern)
	}
	return list
}()

// Finds describes the secrets in a text that is to be committed. Empty: none.
func (r *Redactor) Finds(text []byte) string {
	if r != nil {
		for _, v := range r.values {
			if bytes.Contains(text, v) {
				return "the value of a secret that the agent was given"
			}
		}
	}
	for _, k := range keys {
		if k.OnlyLogs || !bytes.Contains(text, k.mark) {
			continue
		}
		for _, at := range k.pattern.FindAllIndex(text, 10) {
			inside := at[0] > 0 && partOfWord(text[at[0]-1]) // as in encoded data
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

// Redact returns text without secrets, or text itself if it has none.
func (r *Redactor) Redact(text []byte) []byte {
	if r == nil {
		return text
	}
	for _, v := range r.values {
		if bytes.Contains(text, v) {
			text = bytes.ReplaceAll(text, v, redacted)
		}
	}
	for _, k := range keys {
		if bytes.Contains(text, k.mark) {
			text = k.pattern.ReplaceAll(text, redacted)
		}
	}
	return text
}

// held is how many bytes at the end of text could be the start of a value.
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

// keyLine says whether a line is of a private key that spans lines, and whether
// the next one is too.
func keyLine(line []byte, inside bool) (of, next bool) {
	begins := bytes.Contains(line, []byte("-----BEGIN ")) && bytes.Contains(line, []byte("PRIVATE KEY-----"))
	ends := bytes.Contains(line, []byte("-----END "))
	return inside, (inside || begins) && !ends
}
