package source

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// robots is what a robots.txt says to deskhand, as RFC 9309 has it.
type robots struct {
	rules    []robotsRule
	delay    time.Duration
	sitemaps []string
}

type robotsRule struct {
	pattern string
	allow   bool
}

// maxRobots is how much of a robots.txt is read; RFC 9309 asks for 500 KiB.
const maxRobots = 500 << 10

// parseRobots reads the group for deskhand, or else the one for all.
func parseRobots(src []byte) (r robots) {
	groups := map[string]*robots{}
	var names []string
	inRules := true
	for line := range bytes.Lines(src[:min(len(src), maxRobots)]) {
		text, _, _ := strings.Cut(string(line), "#")
		key, value, found := strings.Cut(text, ":")
		if !found {
			continue
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "sitemap":
			r.sitemaps = append(r.sitemaps, value)
			continue
		case "user-agent":
			if inRules {
				names, inRules = nil, false
			}
			names = append(names, strings.ToLower(value))
			continue
		case "allow", "disallow", "crawl-delay":
			inRules = true
		default:
			continue
		}
		for _, name := range names {
			if groups[name] == nil {
				groups[name] = &robots{}
			}
			groups[name].add(key, value)
		}
	}
	for _, name := range []string{agent, "*"} {
		if g := groups[name]; g != nil {
			r.rules, r.delay = g.rules, g.delay
			break
		}
	}
	return r
}

func (r *robots) add(key, value string) {
	switch {
	case key == "crawl-delay":
		if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
			r.delay = min(time.Duration(min(seconds, 3600)*float64(time.Second)), maxPace)
		}
	case value != "": // an empty Disallow allows all
		r.rules = append(r.rules, robotsRule{value, key == "allow"})
	}
}

// allows says whether a path, with its query, may be asked for: the longest rule
// that fits decides, and of equal ones the one that allows.
func (r robots) allows(path string) bool {
	longest, allow := -1, true
	for _, rule := range r.rules {
		if n := len(rule.pattern); robotsMatch(rule.pattern, path) && (n > longest || n == longest && rule.allow) {
			longest, allow = n, rule.allow
		}
	}
	return allow
}

// robotsMatch matches the beginning of a path; * is any text, and $ at the end is
// the end.
func robotsMatch(pattern, path string) bool {
	pattern, toEnd := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(path, parts[0]) {
		return false
	}
	rest := path[len(parts[0]):]
	for i, part := range parts[1:] {
		if toEnd && i == len(parts)-2 {
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return !toEnd || rest == ""
}
