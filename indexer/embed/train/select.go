package train

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Documentation folders often contain the same page many times, once per language and
// version. The model learns nothing from copies, and they displace other pages.
// Therefore only one copy of each page is kept.

var (
	// locale matches a folder of translations.
	locale = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(zh|ja|ko|ru|fr|es|de|it|pt|pl|tr|uk|vi|fa|ar|id|hi|bn|ro|el|cs|nl|hu|sv|th|he|az|ur|bg|ta|fi|sr|sk|yue|i18n|translations|(zh|ja|ko|ru|fr|es|de|it|pt|pl|tr|uk|vi)[-_][a-z]{2,4})$`)
	})
	// version matches a folder with the pages for one version.
	version = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(version-|release-|v)?(\d+)(\.(\d+))?(\.\d+)*(\.x|\.next)?$`)
	})
	// history matches pages about a project's history.
	history = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(^|/)(change-?logs?|changes|history|release-?notes?|releases|whats-?new|blog|news)([-_.][^/]*)?(/|$)`)
	})
)

// chosen returns the paths to read from a source's paths, sorted. It drops history
// pages, and also translations if there is an original. If a page has several versions,
// it keeps the newest one. A page outside all version folders is newer than any
// version.
func chosen(paths []string) []string {
	slices.Sort(paths)
	keep := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return history().MatchString(p) || translated(p) })
	if len(keep)*20 < len(paths) { // almost all pages are translations or history pages, so keep the translations
		keep = slices.DeleteFunc(slices.Clone(paths), history().MatchString)
	}
	newest := map[string]string{}
	for _, p := range keep {
		key, age := unversioned(p)
		if other, ok := newest[key]; ok {
			if _, before := unversioned(other); slices.Compare(age, before) <= 0 {
				continue
			}
		}
		newest[key] = p
	}
	return slices.DeleteFunc(keep, func(p string) bool {
		key, _ := unversioned(p)
		return newest[key] != p
	})
}

// translated reports whether path contains a locale. The locale is either a folder
// or follows a dot in the file name, for example intro.fr.md.
func translated(path string) bool {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		names := strings.Split(p, ".")
		if i == len(parts)-1 {
			names = names[:len(names)-1] // remove the extension
		} else if locale().MatchString(p) {
			return true
		}
		if slices.ContainsFunc(names[min(1, len(names)):], locale().MatchString) {
			return true
		}
	}
	return false
}

// foreign reports whether a page is not in Latin script, which means that more
// than one in thirty letters in its first 4,000 bytes is not Latin.
func foreign(src []byte) bool {
	letters, others := 0, 0
	for _, r := range string(src[:min(len(src), 4000)]) {
		if unicode.IsLetter(r) {
			letters++
			if r >= 0x300 {
				others++
			}
		}
	}
	return others*30 > letters
}

// unversioned returns path without version folders, and the version as a list of
// numbers. If the path has no version, unversioned returns a version higher than
// all others.
func unversioned(path string) (key string, age []int) {
	parts := strings.Split(path, "/")
	kept := parts[:0:0]
	for i, p := range parts {
		if m := version().FindStringSubmatch(p); m != nil && i < len(parts)-1 {
			major, _ := strconv.Atoi(m[2])
			minor, _ := strconv.Atoi(cmp.Or(m[4], "0"))
			age = append(age, major, minor)
			continue
		}
		kept = append(kept, strings.TrimPrefix(p, "versioned_"))
	}
	if age == nil {
		age = []int{1 << 30}
	}
	return strings.Join(kept, "/"), age
}
