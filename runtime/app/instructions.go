package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// guide holds what the instructions of one catalog are made of.
type guide struct {
	corpus string   // what the docs are
	advice []string // for each tool group besides the docs
	docs   string   // for the docs tools, or by the corpus
	alone  bool     // whether docs are the whole instructions
	prefix string   // of tool names; may be empty
}

// instruct sets the instructions of c. Its own tools have their scopes already, and those of
// upstreams are not in it yet. A caller with few scopes reads only about tools that it has.
func (l *docsServer) instruct(c *contract.Catalog) {
	g := guide{corpus: "documentation", advice: slices.Clone(l.advice), docs: c.Instructions, prefix: l.tools.Prefix}
	if l.engine != nil {
		m := l.engine.Metadata()
		if about, _, _ := strings.Cut(strings.TrimSpace(m.CorpusDescription), "\n"); about != "" {
			g.corpus = textutil.Shorten(about, 200)
		}
		g.alone = len(g.advice) == 0 && strings.TrimSpace(m.Instructions) != ""
	}
	tools := slices.Clone(c.Tools)
	c.Instructions = g.text(tools, nil)
	c.InstructionsFor = func(scopes []access.Scope) string {
		var open, closed []contract.Tool
		for _, t := range tools {
			if slices.Contains(scopes, t.Scope) {
				open = append(open, t)
			} else {
				closed = append(closed, t)
			}
		}
		return g.text(open, closed)
	}
}

// text returns the instructions for a caller who may use the tools in open, and not those in
// closed: the docs instructions combined with those of the other tool groups. The purpose comes
// first, on its own line, because Codex, if it defers tools, shows its model only that line
// before a tool search. The corpus's instructions come last, because Claude Code truncates at
// 2,048 characters. If the corpus has its own instructions and no other group is served, only
// the docs instructions are returned.
func (g *guide) text(open, closed []contract.Tool) string {
	var texts []string
	if !g.alone {
		texts = append([]string{g.purpose(open)}, g.advice...)
	}
	if len(closed) == 0 || slices.ContainsFunc(open, func(t contract.Tool) bool { return t.Scope == access.Docs }) {
		texts = append(texts, g.docs)
	}
	texts = slices.DeleteFunc(texts, func(text string) bool {
		return slices.ContainsFunc(closed, func(t contract.Tool) bool { return strings.Contains(text, t.Name) })
	})
	return strings.TrimSpace(strings.Join(texts, "\n\n"))
}

// purpose returns one line that says what the tools are for.
func (g *guide) purpose(tools []contract.Tool) string {
	var parts []string
	for _, group := range []struct{ tool, does string }{
		{"search_docs", "search the " + g.corpus},
		{"ask_user", "ask the user for a decision"},
		{"start_task_attempt", "hand tasks to other coding agents"},
		{"land_attempt", "land their work"},
	} {
		name := group.tool
		if g.prefix != "" {
			name = g.prefix + "_" + name
		}
		if slices.ContainsFunc(tools, func(t contract.Tool) bool { return t.Name == name }) {
			parts = append(parts, fmt.Sprintf("%s (%s)", group.does, name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	line := strings.Join(parts, "; ") + "."
	return strings.ToUpper(line[:1]) + line[1:]
}
