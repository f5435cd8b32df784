package chunker

import (
	"fmt"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown parses CommonMark with GitHub's tables, strikethrough and task lists. It
// does not recognize bare URLs as links, because the words are the same either way.
var markdown = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(measuredHTML{parser.NewHTMLBlockParser()}, 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		measured(parser.NewCodeSpanParser(), 100),
		measured(extension.NewTaskCheckBoxParser(), 150),
		measured(parser.NewLinkParser(), 200),
		measured(parser.NewAutoLinkParser(), 300),
		measured(parser.NewRawHTMLParser(), 400),
		measured(parser.NewEmphasisParser(), 500),
		measured(extension.NewStrikethroughParser(), 500),
	),
	parser.WithParagraphTransformers(
		util.Prioritized(gate{}, 0),
		util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
		util.Prioritized(extension.NewTableParagraphTransformer(), 200),
	),
	parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
)

// parse returns the tree of body. If body is too hostile for goldmark, parsed is
// false. problems gives the reason, and also lists the places where markup was read as
// text.
func parse(body []byte) (root ast.Node, parsed bool, problems []outlineProblem) {
	if at, reason := beyondLimits(body); reason != "" {
		return nil, false, []outlineProblem{{at, reason}}
	}
	g := &guard{Context: parser.NewContext()}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case tooMuch:
			root, parsed, problems = nil, false, []outlineProblem{{g.at, string(r)}}
		default: // a parser bug; the file is still worth reading
			root, parsed, problems = nil, false, []outlineProblem{{-1, fmt.Sprintf("the markdown parser failed (%v)%s", r, readByLine)}}
		}
	}()
	root = markdown.Parse(text.NewReader(body), parser.WithContext(g))
	return root, true, g.problems
}
