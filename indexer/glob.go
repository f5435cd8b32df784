package indexer

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxGlobBytes and maxGlobForms bound the work of one match: a glob with braces
// is tried in each of its forms.
const (
	maxGlobBytes = 1024
	maxGlobForms = 1000
)

var extendedGlob = regexp.MustCompile(`[@+?*!]\(`)

// globForms counts the forms of a glob with braces, or some more.
func globForms(glob string) int {
	forms := 1
	var open []int // alternatives of the braces around
	for i := 0; i < len(glob) && forms <= maxGlobForms; i++ {
		switch c := glob[i]; {
		case c == '\\':
			i++
		case c == '{':
			open = append(open, 1)
		case c == ',' && len(open) > 0:
			open[len(open)-1]++
		case c == '}' && len(open) > 0:
			forms *= open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	return forms
}

// checkGlob says why a glob cannot be used, or returns "".
func checkGlob(glob string) string {
	switch {
	case glob == "":
		return "a glob must not be empty"
	case len(glob) > maxGlobBytes:
		return fmt.Sprintf("glob '%s' is longer than %d bytes", shorten(glob), maxGlobBytes)
	case extendedGlob.MatchString(glob):
		return fmt.Sprintf("glob '%s' uses an extended form; only *, **, ?, [...] and {a,b} are known", shorten(glob))
	case !doublestar.ValidatePattern(glob):
		return fmt.Sprintf("glob '%s' is not closed", shorten(glob))
	case globForms(glob) > maxGlobForms:
		return fmt.Sprintf("glob '%s' has too many alternatives in braces", shorten(glob))
	}
	return ""
}

// covers says whether glob matches name, a path with forward slashes, or a
// folder that name lies in. A glob without a slash is matched with each name
// on the way, as in a .gitignore. The glob has passed checkGlob.
func covers(glob, name string) bool {
	glob = strings.TrimSuffix(strings.TrimPrefix(glob, "./"), "/")
	byName := !strings.Contains(glob, "/")
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		part := name[:i]
		if byName {
			part = path.Base(part)
		}
		if doublestar.MatchUnvalidated(glob, part) {
			return true
		}
	}
	return false
}

// selection is which files of a corpus are wanted.
type selection struct{ include, exclude []string }

// leaves says whether an exclude glob covers name, a file or a folder.
func (s selection) leaves(name string) bool {
	for _, g := range s.exclude {
		if covers(g, name) {
			return true
		}
	}
	return false
}

// takes says whether name, a file that no exclude glob covers, is wanted:
// without include globs every one is.
func (s selection) takes(name string) bool {
	for _, g := range s.include {
		if covers(g, name) {
			return true
		}
	}
	return len(s.include) == 0
}

// shorten cuts s for a message.
func shorten(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}
