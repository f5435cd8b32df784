package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// instructions returns the docs instructions of c combined with those of the other tool
// groups. The purpose comes first, on its own line, because Codex, if it defers tools,
// shows its model only that line before a tool search. The corpus's instructions come
// last, because Claude Code truncates at 2,048 characters. If the corpus has its own
// instructions and no other group is served, only the docs instructions are returned.
func (l *docsServer) instructions(c contract.Catalog) string {
	if len(l.advice) == 0 && l.engine != nil && strings.TrimSpace(l.engine.Metadata().Instructions) != "" {
		return c.Instructions
	}
	texts := append([]string{l.purpose(c)}, l.advice...)
	return strings.TrimSpace(strings.Join(append(texts, c.Instructions), "\n\n"))
}

// purpose returns one line that says what the tools are for.
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
		{"land_attempt", "land their work"},
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
