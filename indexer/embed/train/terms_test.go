package train

import (
	"slices"
	"testing"
)

func TestTermsOfListsAndTables(t *testing.T) {
	for name, c := range map[string]struct {
		markdown string
		want     []term
	}{
		"a list of bold names":      {"- **Grace period**: how long it waits before it is killed\n", []term{{"Grace period", "how long it waits before it is killed"}}},
		"a list of code and a dash": {"* `maxTokens` - the most that an answer may have\n", []term{{"maxTokens", "the most that an answer may have"}}},
		"a list of links": {"1. [Roll back](undo.md): go back to what [ran](x.md) **before** it\n",
			[]term{{"Roll back", "go back to what ran before it"}}},
		"the longest cell of a row": {"| Flag | Type | Meaning |\n|---|---|---|\n| `--dry-run` | bool | says what it would do and does nothing |\n",
			[]term{{"--dry-run", "says what it would do and does nothing"}}},
		"a meaning of few words says nothing":  {"- **Port**: a number\n", nil},
		"a sentence in bold is no name":        {"- **Do not do this unless you have to, please**: it takes a rather long time\n", nil},
		"what stands in a fenced block":        {"```\n- **Port**: the number that it listens at\n```\n", nil},
		"a paragraph that has bold and colons": {"The **port** is this: the number that it listens at\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := termsOf(c.markdown); !slices.Equal(got, c.want) {
				t.Errorf("termsOf(%q) = %q, want %q", c.markdown, got, c.want)
			}
		})
	}
}
