package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// instructions are those of c with those for the groups beside docs. What they
// are for comes first, on a line of its own: a Codex that defers tools shows its
// model nothing else before it searches them. What the corpus says comes last,
// as long as it may be: Claude Code cuts at 2,048 characters. A corpus that has
// a text of its own and is served with nothing else speaks for itself.
func (l *docsServer) instructions(c contract.Catalog) string {
	if len(l.advice) == 0 && l.engine != nil && strings.TrimSpace(l.engine.Metadata().Instructions) != "" {
		return c.Instructions
	}
	texts := append([]string{l.purpose(c)}, l.advice...)
	return strings.TrimSpace(strings.Join(append(texts, c.Instructions), "\n\n"))
}

// purpose says in one line what the tools are for.
func (l *docsServer) purpose(c contract.Catalog) string {
	corpus := "documentation"
	if l.engine != nil {
		if about, _, _ := strings.Cut(strings.TrimSpace(l.engine.Metadata().CorpusDescription), "\n"); about != "" {
			corpus = textutil.Shorten(about, 200)
		}
	}
	var parts []string
	for _, group := range []struct{ tool, does string }{
		{"search_docs", "search the " + corpus},
		{"ask_user", "ask the user for a decision"},
		{"start_task_attempt", "hand tasks to other coding agents"},
		{"land_attempt", "bring their work home"},
	} {
		name := group.tool
		if l.tools.Prefix != "" {
			name = l.tools.Prefix + "_" + name
		}
		if slices.ContainsFunc(c.Tools, func(t contract.Tool) bool { return t.Name == name }) {
			parts = append(parts, fmt.Sprintf("%s (%s)", group.does, name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	line := strings.Join(parts, "; ") + "."
	return strings.ToUpper(line[:1]) + line[1:]
}
