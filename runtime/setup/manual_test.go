package setup

import (
	"os"
	"strings"
	"testing"
)

// The manual's entries are those that init writes, so that a person can paste them.
func TestManualHasTheEntryOfEachClient(t *testing.T) {
	page, err := os.ReadFile("../../corpus/guides/connect-your-agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(page), "## Write the entry by hand\n")
	part, _, _ = strings.Cut(part, "\n## ")
	blocks := strings.Split(part, "```")
	for _, c := range clients {
		at, s := c.project, Server{"deskhand", []string{"serve"}}
		if at == nil {
			at, s = c.user, Server{"/usr/local/bin/deskhand", []string{"serve", "--directory", "/home/you/shop"}}
		} else if at.folder != "" {
			s.Args = append(s.Args, "--directory", at.folder)
		}
		s.Args = append(s.Args, "--watch", "docs")
		file, err := at.edit.put(nil, Entry, at.entry(s))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for i := 1; i < len(blocks); i += 2 {
			_, block, _ := strings.Cut(blocks[i], "\n") // after the language
			found = found || block == string(file) && strings.Contains(blocks[i-1], c.Name)
		}
		if !found {
			t.Errorf("the page has no such block below the name %s:\n%s", c.Name, file)
		}
	}
}
