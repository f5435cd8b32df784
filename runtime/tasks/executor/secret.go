package executor

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// SecretName reports whether the name of a variable or header indicates that its value
// is a secret.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"} {
		if strings.Contains(name, word) {
			return !strings.HasSuffix(name, "_SOCK") && !strings.HasSuffix(name, "_FILE") && !strings.HasSuffix(name, "_DIR")
		}
	}
	return false
}

// shortestSecret is the length, in bytes, from which a value can count as a
// secret whatever its name.
const shortestSecret = 8

// ordinary reports whether a passed value is not a secret, judged by its form.
// Ordinary values are short, or are one or more paths, a number, a switch, a
// locale, a URL without credentials, flags, or one plain word. Some variables
// are ordinary because of their name.
func ordinary(name, value string) bool {
	value = strings.TrimSpace(value)
	if len(value) < shortestSecret || isPlace(value) || plainWord().MatchString(value) || locale().MatchString(value) || strings.HasPrefix(value, "--") {
		return true
	}
	if _, err := strconv.ParseFloat(strings.ReplaceAll(value, "_", ""), 64); err == nil {
		return true
	}
	name = strings.ToUpper(name)
	return slices.ContainsFunc(ordinaryNames, func(end string) bool { return name == strings.TrimPrefix(end, "_") || strings.HasSuffix(name, end) })
}

// ordinaryNames lists endings of the names of variables that hold settings.
var ordinaryNames = []string{"_MODEL", "_ENV", "_MODE", "_LEVEL", "_OPTIONS", "_OPTS", "_FLAGS", "FLAGS", "_REGION", "_VERSION", "_HOST", "_NAME", "_USER", "_TIMEOUT",
	"TERM", "EDITOR", "PAGER", "SHELL", "LANG", "LANGUAGE", "TZ"}

// plainWord matches an ordinary word, for example production.
var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{1,20}$`) })

// locale matches a locale, for example de_DE.UTF-8 or sr_RS@latin.
var locale = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(C|POSIX|[a-z]{2,3}(_[A-Z]{2})?)(\.[A-Za-z0-9-]+)?(@[a-z]+)?$`)
})

// isPlace reports whether a value is a path, a list of paths, or a URL without
// a user, query and fragment.
func isPlace(value string) bool {
	if u, err := url.Parse(value); err == nil && u.Scheme != "" && u.Host != "" {
		return u.User == nil && u.RawQuery == "" && u.Fragment == ""
	}
	for part := range strings.SplitSeq(value, ":") {
		if !strings.HasPrefix(part, "/") && !strings.HasPrefix(part, "~/") && !strings.HasPrefix(part, "./") && !strings.HasPrefix(part, "../") &&
			part != "" && part != "." && part != ".." {
			return windowsPath().MatchString(value)
		}
	}
	return true
}

// windowsPath matches the start of a path with a drive or a share.
var windowsPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z]:[\\/]|\\\\[^\\])`) })
