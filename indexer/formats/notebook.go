package formats

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Limits on the output of a notebook's cells. Within these limits, a table or a
// stack trace is shown in full.
const (
	maxOutput      = 2 << 10
	maxOutputLines = 40
	maxOutputs     = 10 // per cell
)

// notebookPages converts a Jupyter notebook to a page. The page has the notebook's
// text and code, and the beginning of its text output. It has no images or HTML.
func notebookPages(_ context.Context, c *Converter, w *work) error {
	root, err := parseTree(w.src)
	if err != nil {
		return err
	}
	sheets := get(root, "worksheets") // before nbformat 4
	if n := cmp.Or(get(root, "cells"), sheets); n == nil || n.Kind != yaml.SequenceNode {
		return errors.New("it is not a notebook: it has no cells")
	}
	cells := list(get(root, "cells"))
	for _, sheet := range list(sheets) {
		cells = append(cells, list(get(sheet, "cells"))...)
	}
	info := get(root, "metadata")
	language := cmp.Or(text(get(get(info, "language_info"), "name")), text(get(get(info, "kernelspec"), "language")))
	b := &builder{}
	if !titled(cells) {
		b.block(0, "# "+escapePlain(cmp.Or(frontTitle(cells), stem(w.Path))))
	}
	said := false
	for _, cell := range cells {
		said = addCell(b, cell, language) || said
	}
	if !said {
		return nil
	}
	return c.write(w, "", b.text.String(), b.lines)
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9+#.-]{1,30}$`) })

// titled reports whether the first text cell of a notebook starts with a title.
func titled(cells []*yaml.Node) bool {
	for _, cell := range cells {
		switch text(get(cell, "cell_type")) {
		case "markdown":
			source, _ := joined(get(cell, "source"))
			return strings.HasPrefix(strings.TrimSpace(source), "# ")
		case "heading":
			return headingMarks(cell) == "#"
		}
	}
	return false
}

// frontTitle returns the title in the front matter of a notebook, which is in its first cell,
// or "" if there is none.
func frontTitle(cells []*yaml.Node) string {
	if len(cells) == 0 || text(get(cells[0], "cell_type")) != "raw" {
		return ""
	}
	source, _ := joined(get(cells[0], "source"))
	front, ok := strings.CutPrefix(strings.TrimSpace(source), "---\n")
	if !ok {
		return ""
	}
	front, _, _ = strings.Cut(front, "\n---")
	root, err := parseTree([]byte(front))
	if err != nil {
		return "" // it is not front matter
	}
	return oneLine(text(get(root, "title")))
}

// headingMarks returns the marks in front of a heading, which is a cell of its own before
// nbformat 4.
func headingMarks(cell *yaml.Node) string {
	level, err := strconv.Atoi(text(get(cell, "level")))
	if err != nil || level < 1 || level > 6 {
		level = 2
	}
	return strings.Repeat("#", level)
}

// addCell adds a cell and reports whether the cell had any content.
func addCell(b *builder, cell *yaml.Node, language string) bool {
	kind := text(get(cell, "cell_type"))
	key := "source"
	if get(cell, key) == nil {
		key = "input" // before nbformat 4
	}
	source, lines := joined(get(cell, key))
	if strings.TrimSpace(source) == "" {
		return false
	}
	switch kind {
	case "markdown", "heading":
		if kind == "heading" {
			source = headingMarks(cell) + " " + oneLine(source)
		}
		addLines(b, strings.Split(source, "\n"), lines)
		b.add(0, "")
	case "code":
		language = cmp.Or(text(get(cell, "language")), language) // before nbformat 4
		if !plainWord().MatchString(language) {
			language = ""
		}
		code := strings.Split(fence(language, source), "\n")
		b.add(0, code[0])
		// The method fence removes empty lines at both ends.
		skipped := len(source) - len(strings.TrimLeft(source, "\n"))
		addLines(b, code[1:len(code)-1], lines[min(skipped, len(lines)):])
		b.block(0, code[len(code)-1])
		addOutputs(b, list(get(cell, "outputs")))
	}
	return true
}

func addLines(b *builder, text []string, lines []int) {
	for i, line := range text {
		at := 0
		if i < len(lines) {
			at = lines[i]
		}
		b.add(at, line)
	}
}

// joined returns the text in n and the source line of each of its lines. n may be
// a string, or a list of lines, which are separated by the given separator, if any.
func joined(n *yaml.Node, separator ...string) (string, []int) {
	var b strings.Builder
	var lines []int
	add := func(n *yaml.Node) {
		s := strings.ReplaceAll(text(n), "\r\n", "\n")
		b.WriteString(s)
		for range strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1 {
			lines = append(lines, n.Line)
		}
	}
	if n != nil && n.Kind == yaml.ScalarNode {
		add(n)
	}
	for i, part := range list(n) {
		if i > 0 {
			b.WriteString(strings.Join(separator, ""))
		}
		add(part)
	}
	return b.String(), lines
}

// addOutputs adds a cell's output, up to the limits.
func addOutputs(b *builder, outputs []*yaml.Node) {
	for _, o := range outputs[:min(len(outputs), maxOutputs)] {
		said, lines := joined(get(o, "text"))
		if said == "" {
			said, lines = joined(get(get(o, "data"), "text/plain"))
		}
		if said == "" {
			said, lines = joined(get(o, "traceback"), "\n")
		}
		said = bounded(plainText(said))
		if strings.TrimSpace(said) != "" {
			b.block(lines[0], fence("text", said))
		}
	}
}

// escapes matches terminal escape sequences.
var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\x1b") })

// overwritten matches text that a terminal overwrites, such as a progress bar.
var overwritten = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\n]*\r([^\r\n])`) })

func plainText(s string) string {
	return escapes().ReplaceAllString(cut(overwritten().ReplaceAllString(s, "$1"), 4*maxOutput), "")
}

// bounded returns the beginning of a cell's output.
func bounded(s string) string {
	lines := strings.SplitN(s, "\n", maxOutputLines+1)
	if len(lines) > maxOutputLines {
		lines[maxOutputLines] = "..."
	}
	return cut(strings.Join(lines, "\n"), maxOutput)
}
