package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// variants detects sections that are the same in several versions or languages. A
// collapsing facet distinguishes these versions or languages. A search shows one
// such section and names the others. Two sections are variants
//
//   - by place: their pages differ only in the facet's value, as a path segment and
//     as words of the headings ("retries-in-go"); or
//   - by content, if the index has vectors: they have different values of the
//     facet, the same letters in the heading, and nearly the same meaning.
//
// A facet that the query filters by does not collapse.
type variants struct {
	run      *run
	keys     []string
	distinct []map[string]string
	byPage   []int32
	first    map[string]int // by place: index of the hit
	shown    []section      // the hits
	// Reused buffers.
	values        []string
	name, letters []byte
}

// section holds the values that the method same compares.
type section struct {
	chunk   int
	values  map[string]string
	heading string // only the heading's letters and digits
}

// alike is the minimum cosine at which two sections with the same heading count as
// having the same content. Anything from 0.7 to 0.9 gives almost the same results:
// other sections with the same heading are far below, translations far above.
const alike = 0.8

func (r *run) variants() (*variants, error) {
	r.keys = r.collapsing()
	v := &variants{run: r, keys: r.keys, first: map[string]int{}}
	if len(v.keys) == 0 {
		return v, nil
	}
	var err error
	v.distinct, v.byPage, err = r.pageFacets()
	return v, err
}

// of returns the index of the hit that a chunk is a variant of, or -1 if there is
// none. If there is none and there is room, the chunk becomes the next hit.
func (v *variants) of(chunk int, room bool) (of int, err error) {
	if len(v.keys) == 0 {
		return -1, nil
	}
	path, fragment, err := v.run.reader.Place(chunk)
	if err != nil {
		return -1, err
	}
	values := v.distinct[v.byPage[v.run.reader.PageOf(chunk)]]
	placed := v.place(path, fragment, values)
	if of, ok := v.first[string(v.name)]; ok && placed {
		return of, nil
	}
	s := section{chunk: chunk, values: values}
	if v.run.reader.Dimensions() > 0 {
		heading, err := v.run.reader.Heading(chunk)
		if err != nil {
			return -1, err
		}
		v.letters = appendLetters(v.letters[:0], heading)
		if of := slices.IndexFunc(v.shown, func(other section) bool { return v.same(other, s) }); of >= 0 {
			return of, nil
		}
	}
	if room {
		s.heading = string(v.letters)
		if placed {
			v.first[string(v.name)] = len(v.shown)
		}
		v.shown = append(v.shown, s)
	}
	return -1, nil
}

// otherValues returns, for each collapsing facet, the sorted values of the given
// chunks that differ from the hit's own value.
func (r *run) otherValues(values map[string]string, chunks []int) (map[string][]string, error) {
	if len(chunks) == 0 {
		return nil, nil
	}
	distinct, byPage, err := r.pageFacets()
	if err != nil {
		return nil, err
	}
	var others map[string][]string
	for _, k := range r.keys {
		for _, chunk := range chunks {
			value := distinct[byPage[r.reader.PageOf(chunk)]][k]
			at, known := slices.BinarySearch(others[k], value)
			if value == "" || value == values[k] || known {
				continue
			}
			if others == nil {
				others = map[string][]string{}
			}
			others[k] = slices.Insert(others[k], at, value)
		}
	}
	return others, nil
}

// same reports whether two sections are variants by content. v.letters holds b's
// heading.
func (v *variants) same(a, b section) bool {
	return a.heading != "" && a.heading == string(v.letters) &&
		slices.ContainsFunc(v.keys, func(k string) bool { return a.values[k] != "" && b.values[k] != "" && a.values[k] != b.values[k] }) &&
		v.run.reader.Alike(a.chunk, b.chunk) >= alike
}

// appendLetters appends the letters and digits of a heading in lower case, so
// update_or_create equals updateOrCreate.
func appendLetters(b []byte, heading string) []byte {
	for _, c := range heading {
		switch {
		case c >= utf8.RuneSelf:
			b = utf8.AppendRune(b, unicode.ToLower(c))
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			b = append(b, byte(c))
		case 'A' <= c && c <= 'Z':
			b = append(b, byte(c)+'a'-'A')
		}
	}
	return b
}

// collapsing returns the sorted facets that collapse in this query.
func (r *run) collapsing() []string {
	var keys []string
	for k, facet := range r.reader.Metadata().Taxonomy {
		if _, filtered := r.filters[k]; facet.VectorCollapse && !filtered {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// place sets v.name to a chunk's place. In it, the page's values for the
// collapsing facets are replaced by "*". It returns false if the path contains
// none of those values.
func (v *variants) place(path, fragment []byte, metadata map[string]string) (ok bool) {
	v.name, v.values = append(v.name[:0], path...), v.values[:0]
	for _, k := range v.keys {
		value := metadata[k]
		if i := segmentAt(v.name, value); value != "" && i >= 0 {
			v.name = slices.Replace(v.name, i, i+len(value), '*')
			v.values = append(v.values, value)
		}
	}
	if len(v.values) == 0 {
		return false
	}
	v.name = append(v.name, '#')
	for begun := false; len(fragment) > 0; {
		n := 0
		for n < len(fragment) && fragment[n] != '-' && fragment[n] != '/' {
			n++
		}
		if word := fragment[:n]; n > 0 {
			if begun {
				v.name = append(v.name, '-')
			}
			begun = true
			if slices.ContainsFunc(v.values, func(value string) bool { return strings.EqualFold(string(word), value) }) {
				word = anyValue
			}
			v.name = append(v.name, word...)
		}
		fragment = fragment[min(n+1, len(fragment)):]
	}
	return true
}

var anyValue = []byte("*")

// segmentAt returns the start of the first segment of path that equals name, or -1
// if there is none.
func segmentAt(path []byte, name string) int {
	for at := 0; ; {
		n := bytes.IndexByte(path[at:], '/')
		if n < 0 {
			n = len(path) - at
		}
		if string(path[at:at+n]) == name {
			return at
		}
		if at += n + 1; at > len(path) {
			return -1
		}
	}
}
