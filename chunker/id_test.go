package chunker

import (
	"errors"
	"testing"
)

func TestIDRoundTrips(t *testing.T) {
	for _, c := range []struct{ path, fragment, id string }{
		{"guides/retries.md", "", "guides/retries.md"},
		{"guides/retries.md", "backoff/jitter-2", "guides/retries.md#backoff/jitter-2"},
		{"a b.md", "x", "a b.md#x"},
		{" a.md ", "", " a.md "},
		{`it's "q".md`, "_preamble", `it's "q".md#_preamble`},
		{"c#.md", "x", "c%23.md#x"},
		{"#.md", "", "%23.md"},
		{"100%.md", "x", "100%25.md#x"},
		{"a%20b.md", "", "a%2520b.md"},
		{"two\nlines.md", "x", "two%0Alines.md#x"},
		{"tab\t.md", "x", "tab%09.md#x"},
		{"sep\u2028\u0085.md", "x", "sep%E2%80%A8%C2%85.md#x"},
		{"日本語/ü.md", "section", "日本語/ü.md#section"},
		{"bad\xff.md", "x", "bad%FF.md#x"},
		{"good\uFFFD.md", "x", "good\uFFFD.md#x"},
		{`a\b.md`, "", "a%5Cb.md"},
		{"c:/x.md", "", "c%3A/x.md"},
		{"..a/...md", "", "..a/...md"},
	} {
		if got := ID(c.path, c.fragment); got != c.id {
			t.Errorf("ID(%q, %q) = %q, want %q", c.path, c.fragment, got, c.id)
		}
		path, fragment, err := ParseID(c.id)
		if path != c.path || fragment != c.fragment || err != nil {
			t.Errorf("ParseID(%q) = %q, %q, %v; want %q, %q", c.id, path, fragment, err, c.path, c.fragment)
		}
	}
}

func TestParseIDReadsAPercentSignTypedByHand(t *testing.T) {
	for id, want := range map[string]string{
		"100% sure.md": "100% sure.md",
		"50%.md":       "50%.md",
		"a%":           "a%",
		"a%2":          "a%2",
		"a%2d.md":      "a-.md",
	} {
		if got, _, err := ParseID(id); got != want || err != nil {
			t.Errorf("ParseID(%q) = %q, %v; want %q", id, got, err, want)
		}
	}
}

func TestParseIDRefuses(t *testing.T) {
	for name, id := range map[string]string{
		"empty":                     "",
		"no path":                   "#x",
		"empty fragment":            "x#",
		"empty fragment, space":     "a b#",
		"two fragments":             "a.md#b#c",
		"climbs out":                "../x",
		"climbs out later":          "a/../../x.md#top",
		"climbs out, encoded":       "%2e%2E/x",
		"climbs out with backslash": `..\x`,
		"dot":                       ".",
		"dot within":                "a/./b.md",
		"absolute":                  "/etc/passwd",
		"absolute, encoded":         "%2Fetc/passwd",
		"absolute with a drive":     `C:\x.md`,
		"drive and slash":           "c:/x.md",
		"folder":                    "guides/",
		"empty element":             "a//b.md",
		"NUL":                       "a\x00.md",
		"NUL, encoded":              "a%00.md",
		"newline":                   "a\nb.md",
		"control in the fragment":   "a.md#b\x07",
		"not UTF-8":                 "a\xff.md",
	} {
		t.Run(name, func(t *testing.T) {
			if path, fragment, err := ParseID(id); !errors.Is(err, ErrBadID) {
				t.Errorf("ParseID(%q) = %q, %q, %v; want ErrBadID", id, path, fragment, err)
			}
		})
	}
}

func TestSlug(t *testing.T) {
	for heading, want := range map[string]string{
		"Backoff Strategy":    "backoff-strategy",
		"C++ & C#":            "c-c",
		"1. First, do this!":  "1-first-do-this",
		"snake_case_name":     "snakecasename",
		"--flag-name":         "flag-name",
		"a - b -- c":          "a-b-c",
		"pkg/path v1.2":       "pkgpath-v12",
		"Größe":               "gre",
		"İstanbul":            "istanbul",
		"日本語":                 "section",
		"":                    "section",
		"- - -":               "section",
		"on two\nlines":       "on-twolines",
		"no\u00a0break space": "nobreak-space",
	} {
		if got := slug(heading); got != want {
			t.Errorf("slug(%q) = %q, want %q", heading, got, want)
		}
	}
}

func TestParseByKnowsFourValues(t *testing.T) {
	for _, by := range []By{H1, H2, H3, File} {
		if got, ok := ParseBy(string(by)); got != by || !ok {
			t.Errorf("ParseBy(%q) = %q, %v; want it", by, got, ok)
		}
	}
	for _, s := range []string{"", "h4", "H2", " h2", "page"} {
		if got, ok := ParseBy(s); got != "" || ok {
			t.Errorf("ParseBy(%q) = %q, %v; want none", s, got, ok)
		}
	}
}
