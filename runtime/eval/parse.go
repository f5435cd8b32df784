package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// loader collects the cases from all files of one call to Load.
type loader struct {
	cases    []Case
	names    map[string]int // how often each name was used
	unknown  map[string]*mention
	warnings []string
}

// mention records where an unknown field first occurs, and how often.
type mention struct {
	first string
	count int
}

// file reads one file. It checks all cases before it returns an error, so the hint
// can say how many more cases need fixing.
func (l *loader) file(path string, data []byte) error {
	list, err := caseList(data)
	if err != nil {
		return fault.New("bad_cases", fmt.Sprintf("%s: %v", path, err), "pass a JSON list of cases, or an object with the list as \"cases\"")
	}
	if len(list) == 0 {
		return fault.New("no_cases", fmt.Sprintf("%s has no cases", path), "add at least one graded query")
	}
	var problems []string
	for i, raw := range list {
		c, extra, err := readCase(raw)
		where := fmt.Sprintf("%s: case %d", path, i+1)
		if c.Name != "" {
			where += fmt.Sprintf(" %q", textutil.Shorten(c.Name, 60))
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", where, err))
			continue
		}
		l.add(c, where, extra)
	}
	switch n := len(problems); n {
	case 0:
		return nil
	case 1:
		return fault.New("bad_cases", problems[0], "fix the case, then run the command again")
	default:
		return fault.New("bad_cases", problems[0], fmt.Sprintf("fix this case and %d more of the %d cases; the next is %s", n-1, len(list), problems[1]))
	}
}

// add adds a case under a unique name.
func (l *loader) add(c Case, where string, extra []string) {
	for _, field := range extra {
		if l.unknown[field] == nil {
			l.unknown[field] = &mention{first: where}
		}
		l.unknown[field].count++
	}
	named := c.Name != ""
	if !named {
		c.Name = oneLine(c.Query)
	}
	name := c.Name
	for l.names[c.Name] > 0 {
		l.names[name]++
		c.Name = fmt.Sprintf("%s #%d", name, l.names[name])
	}
	l.names[c.Name]++
	if named && c.Name != name {
		l.warnings = append(l.warnings, fmt.Sprintf("%s: duplicate name, so the case was renamed %q; give each case a unique name", where, c.Name))
	}
	if best := slices.MaxFunc(c.Expected, func(a, b Entry) int { return a.Grade - b.Grade }).Grade; best < c.Good {
		l.warnings = append(l.warnings, fmt.Sprintf("%s: its best grade is %d, but MRR, hit rate and recall count only grades of %d or more, so they stay 0", where, best, c.Good))
	}
	l.cases = append(l.cases, c)
}

func (l *loader) allWarnings() []string {
	all := l.warnings
	for _, field := range slices.Sorted(maps.Keys(l.unknown)) {
		s := l.unknown[field]
		all = append(all, fmt.Sprintf("%s: the field %q has no effect (found %d times); remove it or check its spelling", s.first, field, s.count))
	}
	return all
}

func caseList(data []byte) ([]json.RawMessage, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var list []json.RawMessage
	err := json.Unmarshal(data, &list)
	if syntax := new(json.SyntaxError); errors.As(err, &syntax) {
		return nil, errors.New(jsonFlaw(data, err))
	}
	if err == nil {
		return list, nil
	}
	var wrapped struct {
		Cases []json.RawMessage `json:"cases"`
	}
	if json.Unmarshal(data, &wrapped) != nil {
		return nil, errors.New("contains no list of cases")
	}
	return wrapped.Cases, nil
}

// readCase also returns the names of unknown fields. If it fails, the returned
// case still has its name, if that could be read.
func readCase(raw json.RawMessage) (c Case, extra []string, err error) {
	o := newObject(raw)
	var entries []json.RawMessage
	var chunk, alias string
	o.text(&c.Name, "name")
	o.text(&c.Category, "category")
	o.text(&c.Query, "query")
	o.take(&c.Asked, "an object of strings", "asked")
	o.take(&c.Filters, "an object of strings", "filters")
	o.integer(&c.Limit, 1, 50, "limit")
	o.integer(&c.MaxRounds, 1, 100, "maxRounds")
	o.integer(&c.MaxRounds, 1, 100, "max_rounds")
	isList := o.take(&entries, "a list of entries", "expected")
	o.text(&chunk, "expectedChunkId")
	o.text(&alias, "expected_chunk_id")
	if chunk == "" {
		chunk = alias
	}
	c.Name, c.Category = oneLine(c.Name), oneLine(c.Category)
	extra = o.rest("")
	if o.err != nil {
		return c, nil, o.err
	}

	c.Good = 1
	switch {
	case isList && chunk != "":
		return c, nil, errors.New("has both expected and expectedChunkId; keep one")
	case chunk != "":
		c.Expected = []Entry{{ChunkID: chunk, Grade: 1}}
		// These are the defaults of this form.
		c.Limit, c.MaxRounds = orDefault(c.Limit, 5), orDefault(c.MaxRounds, 3)
	}
	for i, raw := range entries {
		e, graded, more, err := readEntry(raw)
		if err != nil {
			return c, nil, fmt.Errorf("expected entry %d %w", i+1, err)
		}
		if graded {
			c.Good = 2
		}
		c.Expected, extra = append(c.Expected, e), append(extra, more...)
	}
	if c.Category == "" {
		c.Category = "other"
	}
	return c, extra, c.check()
}

func orDefault(n, standard int) int {
	if n == 0 {
		return standard
	}
	return n
}

func (c *Case) check() error {
	switch {
	case oneLine(c.Query) == "":
		return errors.New("has no query; add one")
	case len(c.Expected) == 0:
		return errors.New("has no expected entries; list at least one place that answers it under expected")
	}
	for reader, query := range c.Asked {
		if oneLine(query) == "" {
			return fmt.Errorf("has a blank query asked by %q; write it or leave it out", reader)
		}
	}
	for facet, value := range c.Filters {
		if facet == "" || value == "" {
			return fmt.Errorf("filters by %q = %q; set both or remove the filter", facet, value)
		}
	}
	if len(c.Filters) == 0 {
		c.Filters = nil
	}
	return nil
}

// readEntry also reports whether the entry sets a grade.
func readEntry(raw json.RawMessage) (e Entry, graded bool, extra []string, err error) {
	o := newObject(raw)
	e.Grade = 1
	graded = o.integer(&e.Grade, 0, 3, "grade")
	o.integer(&e.Same, 0, math.MaxInt32, "same")
	o.text(&e.ChunkID, "chunk_id")
	o.text(&e.Filepath, "filepath")
	o.take(&e.AltFilepaths, "a list of strings", "alt_filepaths")
	e.HasHeading = o.text(&e.Heading, "heading")
	o.take(&e.HeadingPath, "a list of strings", "heading_path")
	o.take(&e.Subtree, "true or false", "subtree")
	o.text(&e.Contains, "contains")
	o.text(&e.Slug, "heading_slug")
	if o.err != nil {
		return e, graded, nil, o.err
	}
	extra = o.rest("expected.")
	if e.HasHeading && (e.Contains != "" || e.Slug != "") {
		extra = append(extra, "expected.contains or .heading_slug combined with .heading")
		e.Contains, e.Slug = "", ""
	}
	e.Filepath = cleanPath(e.Filepath)
	for i, path := range e.AltFilepaths {
		e.AltFilepaths[i] = cleanPath(path)
	}
	switch {
	case e.ChunkID != "" && e.Filepath != "":
		err = errors.New("has both a chunk and a file; keep either chunk_id or filepath")
	case e.ChunkID == "" && e.Filepath == "":
		err = errors.New("has no place; add filepath or chunk_id")
	case slices.Contains(e.AltFilepaths, ""):
		err = errors.New("has an empty path in alt_filepaths; remove it")
	}
	return e, graded, extra, err
}

// object is a JSON object whose fields are removed as they are read. err describes
// the first field with a wrong type, if any.
type object struct {
	fields map[string]json.RawMessage
	err    error
}

func newObject(raw json.RawMessage) *object {
	var o object
	if json.Unmarshal(raw, &o.fields) != nil || o.fields == nil {
		o.err = errors.New("is not a JSON object; write it as {\"name\": value, ...}")
	}
	return &o
}

// take moves a field into a variable and reports whether the field was present. A
// null value counts as absent.
func (o *object) take(into any, want, field string) bool {
	raw, ok := o.fields[field]
	delete(o.fields, field)
	if !ok || string(raw) == "null" {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil && o.err == nil {
		o.err = fmt.Errorf("has an invalid %s: it must be %s, not %s", field, want, textutil.Shorten(string(raw), 40))
	}
	return true
}

func (o *object) text(into *string, field string) bool { return o.take(into, "a string", field) }

func (o *object) integer(into *int, low, high int, field string) bool {
	var number float64
	want := fmt.Sprintf("an integer from %d to %d", low, high)
	if !o.take(&number, want, field) {
		return false
	}
	if number != math.Trunc(number) || number < float64(low) || number > float64(high) {
		if o.err == nil {
			o.err = fmt.Errorf("has an invalid %s: it must be %s, not %v", field, want, number)
		}
		return true
	}
	*into = int(number)
	return true
}

// rest returns the names of the fields that were not taken, sorted, with prefix in
// front of each.
func (o *object) rest(prefix string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		names = append(names, prefix+oneLine(name))
	}
	return names
}

// oneLine replaces control characters and runs of white space with one space.
func oneLine(s string) string {
	return squeeze(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}
