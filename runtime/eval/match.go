package eval

import (
	"html"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/cases"
)

// space matches Unicode white space. A word consists of letters, digits and
// underscores of any script, so headings in all languages are compared in the
// same way.
const space = `[\t-\r\x1c-\x20\x{85}\p{Z}]`

// unmarked lists the patterns that remove markup from a heading, in this order.
var unmarked = []struct {
	pattern func() *regexp.Regexp
	keep    string
}{
	{lazily(space + `*\{:?` + space + `*#[^}]*\}` + space + `*$`), ""}, // matches {#explicit-anchor}
	{lazily(`^` + space + `*#{1,6}` + space + `+`), ""},
	{lazily(space + `+#+` + space + `*$`), ""}, // matches closing hashes
	{lazily(`<[^>]+>`), ""},
	{lazily(`!?\[([^\]]*)\]\([^)]*\)`), "$1"},
	{lazily("[`*\\\\~]"), ""},
}

var (
	spaces     = lazily(space + `+`)
	crumbSplit = lazily(space + `+[>›]` + space + `+|` + space + `*»` + space + `*`)
	notInSlug  = lazily(`[^\p{L}\p{N}_ -]`)
	slugGaps   = lazily(`[ _-]+`)
	slugNumber = lazily(`(-part)?-\p{Nd}+$`)
	atxHeading = lazily(`^ {0,3}#{1,6}` + space)
	codeFence  = lazily(`^` + space + "*(```|~~~)")
	pathStart  = lazily(`^(\./|/)+`)
)

// lazily compiles a pattern on first use. Most deskhand processes never run an
// evaluation, and compiling all patterns takes 0.2 ms.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// plain returns a heading in the form used for comparison: without markup, with
// single spaces, case folded.
func plain(heading string) string {
	s := html.UnescapeString(heading)
	for _, m := range unmarked {
		s = m.pattern().ReplaceAllString(s, m.keep)
	}
	return cases.Fold().String(squeeze(s))
}

// squeeze replaces each run of white space with one space and trims the ends.
func squeeze(s string) string { return strings.Trim(spaces().ReplaceAllString(s, " "), " ") }

func slug(heading string) string {
	s := notInSlug().ReplaceAllString(plain(heading), "")
	return strings.Trim(slugGaps().ReplaceAllString(s, "-"), "-")
}

func cleanPath(p string) string { return pathStart().ReplaceAllString(p, "") }

// place is a hit's position, in the form that the rules compare.
type place struct {
	hit     Hit
	paths   []string // what an entry may call the file
	ids     []string // what an entry may call the chunk
	heading string   // plain heading
	trail   []string // the breadcrumb's non-empty parts, as plain headings
	// The function text returns the chunk's Markdown, headings returns the plain
	// headings in the chunk, and slugs returns the slugs that name the place.
	// Each result is computed on first use.
	text     func() string
	headings func() map[string]bool
	slugs    func() []string
}

func newPlace(hit Hit, text func(id string) string) *place {
	p := &place{hit: hit, paths: hit.places(cleanPath(hit.Path)), ids: hit.places(hit.ID), heading: plain(hit.Heading)}
	for _, part := range crumbSplit().Split(hit.Breadcrumb, -1) {
		if part = plain(part); part != "" {
			p.trail = append(p.trail, part)
		}
	}
	p.text = sync.OnceValue(func() string { return text(hit.ID) })
	p.headings = sync.OnceValue(func() map[string]bool { return headingsIn(p.text()) })
	p.slugs = sync.OnceValue(p.makeSlugs)
	return p
}

// headingsIn returns the plain text of the ATX headings outside code fences.
func headingsIn(markdown string) map[string]bool {
	found, fenced := map[string]bool{}, false
	for line := range strings.SplitSeq(markdown, "\n") {
		switch {
		case codeFence().MatchString(line):
			fenced = !fenced
		case !fenced && atxHeading().MatchString(line):
			found[plain(line)] = true
		}
	}
	return found
}

// makeSlugs returns the slugs of the heading, of the breadcrumb and of the parts of
// the chunk ID's fragment. Each slug is also returned without the number that
// distinguishes repeated headings and the parts of a long section.
func (p *place) makeSlugs() []string {
	_, fragment, _ := strings.Cut(p.hit.ID, "#")
	names := slices.Concat([]string{p.hit.Heading}, p.trail, strings.Split(fragment, "/"))
	var slugs []string
	for _, name := range names {
		s := slug(name)
		slugs = append(slugs, s, slugNumber().ReplaceAllString(s, ""))
	}
	return slugs
}

func (p *place) wholeFile() bool { return p.hit.ID != "" && !strings.Contains(p.hit.ID, "#") }

// under reports whether parent is in the breadcrumb above the hit's own heading.
func (p *place) under(parent string) bool {
	above := p.trail
	if last := len(above) - 1; last >= 0 && above[last] == p.heading {
		above = above[:last]
	}
	return slices.Contains(above, parent)
}

// target is an expected entry, in the form that the rules compare.
type target struct {
	Entry
	heading string // plain heading
	// parent is the plain parent heading, if the entry names it.
	parent    string
	hasParent bool
	titles    []string // plain titles
}

func newTarget(e Entry, title func(string) string) target {
	t := target{Entry: e, heading: plain(e.Heading)}
	if n := len(e.HeadingPath); n >= 2 {
		t.parent, t.hasParent = plain(e.HeadingPath[n-2]), true
	}
	if e.HasHeading && e.Heading == "" {
		base := path.Base(e.Filepath)
		t.titles = append(t.titles, plain(strings.TrimSuffix(base, path.Ext(base))))
		if title != nil {
			t.titles = append(t.titles, plain(title(e.Filepath)))
		}
	}
	return t
}

// coveredBy reports whether a hit at p matches the expected entry t, by the rules
// of Entry.
func (t *target) coveredBy(p *place) bool {
	switch {
	case t.ChunkID != "":
		return slices.Contains(p.ids, t.ChunkID)
	case !slices.ContainsFunc(p.paths, func(path string) bool { return path == t.Filepath || slices.Contains(t.AltFilepaths, path) }):
		return false
	case p.wholeFile():
		return true
	case !t.HasHeading:
		return t.coveredLoosely(p)
	case t.Heading == "":
		return t.Subtree || t.coveredAsPreamble(p)
	}
	return t.coveredAsSection(p)
}

func (t *target) coveredLoosely(p *place) bool {
	switch {
	case t.Contains != "":
		return strings.Contains(squeeze(p.text()), squeeze(t.Contains))
	case t.Slug != "":
		return slices.Contains(p.slugs(), t.Slug)
	}
	return true
}

func (t *target) coveredAsPreamble(p *place) bool {
	return p.heading == "" || strings.HasSuffix(p.hit.ID, "#_preamble") ||
		len(p.trail) <= 1 && slices.Contains(t.titles, p.heading)
}

func (t *target) coveredAsSection(p *place) bool {
	// A breadcrumb with one part does not show the parent, so the parent is not
	// checked.
	asked := t.hasParent && len(p.trail) >= 2
	switch {
	case p.heading == t.heading:
		return !asked || p.under(t.parent)
	case t.Subtree && slices.Contains(p.trail, t.heading) && (!asked || slices.Contains(p.trail, t.parent)):
		return true
	}
	return p.headings()[t.heading]
}
