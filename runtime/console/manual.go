package console

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/manual"
	"github.com/deskhand/deskhand/runtime/search"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Topic prints a page or section of the manual. On a terminal, the text is formatted and
// followed by a list of the topics that it links to. Elsewhere, it is Markdown. Topic
// returns the fault no_topic if there is no such topic.
func (c *Console) Topic(name string) error {
	found, err := manual.Find(name)
	if err != nil {
		return err
	}
	var near []string
	text := manual.Linked(found.Markdown(), found.Page.Path, func(p manual.Page, anchor string) string {
		name := p.Name
		if anchor != "" {
			name += "#" + anchor
		}
		if p.Path != found.Page.Path && !slices.Contains(near, name) {
			near = append(near, name)
		}
		return "deskhand:" + name
	})
	if len(near) > 0 {
		text += "\n---\n\nSee also: `deskhand help " + strings.Join(near, "`, `deskhand help ") + "`\n"
	}
	width, terminal := Width(c.Stdout)
	if !terminal {
		_, err := fmt.Fprint(c.Stdout, found.Markdown())
		return err
	}
	_, err = fmt.Fprint(c.Stdout, typeset(unlinked(text), PainterFor(c.Stdout), min(width, 100)))
	return err
}

// Failed prints err, the next step for the user and, on a terminal, the manual topic that
// explains it. f is the error's fault, or nil. Scripts get only the two lines that they
// expect, without colours.
func (c *Console) Failed(f *fault.Fault, err error) {
	paint := PainterFor(c.Stderr)
	fmt.Fprintf(c.Stderr, "%s %s\n", paint.Code("deskhand:", "1;31"), paint.Plain(err.Error()))
	if f != nil && f.Hint != "" && !strings.Contains(err.Error(), f.Hint) {
		fmt.Fprintf(c.Stderr, "%s %s\n", paint.Code("hint:", "1;36"), paint.Plain(f.Hint))
	}
	if paint.OnTerminal() {
		c.more(f, err)
	}
}

// more prints the manual topic that explains an error, if there is one.
func (c *Console) more(f *fault.Fault, err error) {
	code := ""
	if f != nil {
		code = f.Code
	}
	if topic := manual.About(code, err.Error()); topic != "" {
		fmt.Fprintln(c.Stderr, PainterFor(c.Stderr).Dim("more: deskhand help "+topic))
	}
}

// unlinked replaces links within the manual with their text, because a terminal
// cannot follow them.
func unlinked(text string) string {
	for {
		end := strings.Index(text, "](deskhand:")
		if end < 0 {
			return text
		}
		start := strings.LastIndex(text[:end], "[")
		close := strings.Index(text[end:], ")")
		if start < 0 || close < 0 {
			return text
		}
		text = text[:start] + text[start+1:end] + text[end+close+1:]
	}
}

// Topics prints the manual's table of contents.
func (c *Console) Topics() error {
	paint := PainterFor(c.Stdout)
	width := 100
	if columns, ok := Width(c.Stdout); ok {
		width = min(width, columns)
	}
	var b strings.Builder
	var rows [][2]string
	group := ""
	flush := func() {
		if len(rows) > 0 {
			Columns(&b, paint.Bold(strings.ToUpper(group[:1])+group[1:]), rows, width)
		}
		rows = nil
	}
	for _, p := range manual.Pages() {
		if p.Group == "" {
			continue
		}
		if p.Group != group {
			flush()
			group = p.Group
		}
		rows = append(rows, [2]string{p.Name, p.Title})
	}
	flush()
	b.WriteString("\nTo read a topic, run \"deskhand help TOPIC\". To search all topics, run \"deskhand docs WORDS\".\n")
	_, err := fmt.Fprint(c.Stdout, b.String())
	return err
}

// TopicHits prints sections of the manual, each with the command to read it.
func (c *Console) TopicHits(hits []search.Hit) error {
	paint := PainterFor(c.Stdout)
	for _, h := range hits {
		if _, err := fmt.Fprintf(c.Stdout, "%s\n  %s\n  %s\n\n", paint.Bold(h.Breadcrumb), paint.Marks(textutil.OneLine(h.Snippet)), paint.Path("deskhand help "+manual.TopicOf(h.ID))); err != nil {
			return err
		}
	}
	if len(hits) == 0 {
		return c.Line("the manual has no section about this; list its topics: deskhand docs")
	}
	return nil
}
