package executor

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// SecretName reports whether the name of a variable or a header says that its value
// is one.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"} {
		if strings.Contains(name, word) {
			return !strings.HasSuffix(name, "_SOCK") && !strings.HasSuffix(name, "_FILE") && !strings.HasSuffix(name, "_DIR")
		}
	}
	return false
}

// shortestSecret is how long a value is, in bytes, that is taken for a secret
// whatever its variable is called.
const shortestSecret = 8

// ordinary reports whether a value that the configuration passes on is no secret,
// by what it looks like: short, a path or several, a number, a switch, a locale,
// an address without credentials, flags, one plain word. The names of some
// variables say so too.
func ordinary(name, value string) bool {
	value = strings.TrimSpace(value)
	if len(value) < shortestSecret || isPlace(value) || plainWord.MatchString(value) || locale.MatchString(value) || strings.HasPrefix(value, "--") {
		return true
	}
	if _, err := strconv.ParseFloat(strings.ReplaceAll(value, "_", ""), 64); err == nil {
		return true
	}
	name = strings.ToUpper(name)
	return slices.ContainsFunc(ordinaryNames, func(end string) bool { return name == strings.TrimPrefix(end, "_") || strings.HasSuffix(name, end) })
}

// ordinaryNames are ends of the names of variables whose values are settings.
var ordinaryNames = []string{"_MODEL", "_ENV", "_MODE", "_LEVEL", "_OPTIONS", "_OPTS", "_FLAGS", "FLAGS", "_REGION", "_VERSION", "_HOST", "_NAME", "_USER", "_TIMEOUT",
	"TERM", "EDITOR", "PAGER", "SHELL", "LANG", "LANGUAGE", "TZ"}

// plainWord is a word as any text has it: production, development.
var plainWord = regexp.MustCompile(`^[a-z]{1,20}$`)

// locale is such as de_DE.UTF-8 or sr_RS@latin.
var locale = regexp.MustCompile(`^(C|POSIX|[a-z]{2,3}(_[A-Z]{2})?)(\.[A-Za-z0-9-]+)?(@[a-z]+)?$`)

// isPlace reports whether a value is a path, a list of paths, or an address that
// has neither a user nor a query.
func isPlace(value string) bool {
	if u, err := url.Parse(value); err == nil && u.Scheme != "" && u.Host != "" {
		return u.User == nil && u.RawQuery == "" && u.Fragment == ""
	}
	for part := range strings.SplitSeq(value, ":") {
		if !strings.HasPrefix(part, "/") && !strings.HasPrefix(part, "~/") && !strings.HasPrefix(part, "./") && !strings.HasPrefix(part, "../") &&
			part != "" && part != "." && part != ".." {
			return windowsPath.MatchString(value)
		}
	}
	return true
}

// windowsPath begins with a drive or a share.
var windowsPath = regexp.MustCompile(`^([A-Za-z]:[\\/]|\\\\[^\\])`)
