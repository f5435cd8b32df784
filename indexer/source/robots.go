package source

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// robots holds the rules in a robots.txt that apply to deskhand according to RFC 9309.
type robots struct {
	rules    []robotsRule
	delay    time.Duration
	sitemaps []string
}

type robotsRule struct {
	pattern string
	allow   bool
}

// maxRobots is the number of bytes that are read from a robots.txt. RFC 9309 requires
// at least 500 KiB.
const maxRobots = 500 << 10

// parseRobots reads the group of rules for deskhand, or else the group for all
// robots.
func parseRobots(src []byte) (r robots) {
	groups := map[string]*robots{}
	var names []string
	inRules := true
	src = bytes.TrimPrefix(src[:min(len(src), maxRobots)], []byte("\uFEFF"))
	for line := range strings.FieldsFuncSeq(string(src), func(r rune) bool { return r == '\n' || r == '\r' }) {
		text, _, _ := strings.Cut(line, "#")
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
	case value != "": // an empty Disallow allows everything
		r.rules = append(r.rules, robotsRule{normalPath(value), key == "allow"})
	}
}

// allows reports whether a path, including its query, may be requested. The longest
// matching rule applies. If an allowing rule and a disallowing rule have the same
// length, the allowing rule applies.
func (r robots) allows(path string) bool {
	path = normalPath(path)
	longest, allow := -1, true
	for _, rule := range r.rules {
		if n := len(rule.pattern); robotsMatch(rule.pattern, path) && (n > longest || n == longest && rule.allow) {
			longest, allow = n, rule.allow
		}
	}
	return allow
}

// robotsMatch reports whether pattern matches the beginning of a path. In pattern, *
// matches any text, and $ at the end matches the end of the path.
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

// normalPath returns a path or pattern in the form in which RFC 9309, section 2.2.2, compares
// them: characters outside of ASCII are escaped, and unreserved characters are not.
func normalPath(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c, escaped := path[i], false
		if c == '%' && i+2 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil {
				c, escaped = byte(n), true
				i += 2
			}
		}
		unreserved := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
		if c > unicode.MaxASCII || escaped && !unreserved {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
