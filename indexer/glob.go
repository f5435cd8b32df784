package indexer

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxGlobBytes and maxGlobForms limit the work for one match. A glob with braces stands
// for several globs without braces, its forms, and each of them is tried.
const (
	maxGlobBytes = 1024
	maxGlobForms = 1000
)

var extendedGlob = regexp.MustCompile(`[@+?*!]\(`)

// globForms returns an upper limit on the number of forms of a glob with braces.
func globForms(glob string) int {
	forms := 1
	var open []int // number of alternatives in each brace that is open
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

// checkGlob returns the reason why a glob cannot be used, or "" if it can be
// used.
func checkGlob(glob string) string {
	switch {
	case glob == "":
		return "a glob must not be empty"
	case len(glob) > maxGlobBytes:
		return fmt.Sprintf("glob '%s' is longer than %d bytes", shorten(glob), maxGlobBytes)
	case extendedGlob.MatchString(glob):
		return fmt.Sprintf("glob '%s' uses unsupported syntax; only *, **, ?, [...] and {a,b} are supported", shorten(glob))
	case !doublestar.ValidatePattern(glob):
		return fmt.Sprintf("glob '%s' has an unclosed bracket or brace", shorten(glob))
	case globForms(glob) > maxGlobForms:
		return fmt.Sprintf("glob '%s' has too many alternatives in braces", shorten(glob))
	}
	return ""
}

// covers reports whether glob matches name or one of its parent folders. name is a
// path with forward slashes. A glob without a slash is matched against each element of
// the path, as in a .gitignore. The glob must have passed checkGlob.
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

// selection selects the files of a corpus.
type selection struct {
	include, exclude []string
	// gitIgnore and gitExcludes have the meaning of GitIgnore and GitExcludes in Options.
	gitIgnore, gitExcludes bool
}

// leaves reports whether an exclude glob covers name, which is a file or folder.
func (s selection) leaves(name string) bool {
	for _, g := range s.exclude {
		if covers(g, name) {
			return true
		}
	}
	return false
}

// takes reports whether the file name is included. No exclude glob may cover the file.
// If there are no include globs, every file is included.
func (s selection) takes(name string) bool {
	for _, g := range s.include {
		if covers(g, name) {
			return true
		}
	}
	return len(s.include) == 0
}

// shorten truncates s for use in a message.
func shorten(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}
