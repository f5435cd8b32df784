package logs

import (
	"bytes"
	"regexp"
	"slices"
)

// Redactor takes secrets out of what is written: values that it was told, and
// what looks like a key. It may be used at once. A nil one takes out nothing.
type Redactor struct {
	values [][]byte // longest first
}

// shortest is how long a value must be to be taken out: shorter ones are in
// every text.
const shortest = 8

var redacted = []byte("[redacted]")

// NewRedactor takes the values of secrets, such as those of environment
// variables that hold keys. Values under 8 bytes are left alone.
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

// keys are the shapes of well-known keys. Each has what is looked for first, as a
// search for a constant is much cheaper than a pattern. They match in plain text
// and inside JSON alike, where a key can stand right behind the n of a newline.
var keys = []struct {
	mark    []byte
	pattern *regexp.Regexp
}{
	{[]byte("sk-"), regexp.MustCompile(`sk-(?:ant|proj|or|svcacct|admin)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{32,}`)},
	{[]byte("gh"), regexp.MustCompile(`gh[opsur]_[A-Za-z0-9]{30,}`)},
	{[]byte("github_pat_"), regexp.MustCompile(`github_pat_[A-Za-z0-9_]{30,}`)},
	{[]byte("glpat-"), regexp.MustCompile(`glpat-[A-Za-z0-9_-]{20,}`)},
	{[]byte("AKIA"), regexp.MustCompile(`AKIA[0-9A-Z]{16}`)},
	{[]byte("AIza"), regexp.MustCompile(`AIza[0-9A-Za-z_-]{35}`)},
	{[]byte("xox"), regexp.MustCompile(`xox[abeprs]-[A-Za-z0-9-]{10,}`)},
	{[]byte("Bearer "), regexp.MustCompile(`Bearer [A-Za-z0-9._~+/=-]{20,}`)},
	// up to the end of the text, or of the JSON string
	{[]byte("PRIVATE KEY-----"), regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^"\\]|\\(?s:.))*`)},
}

// Redact returns text without secrets; text itself if it has none.
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
