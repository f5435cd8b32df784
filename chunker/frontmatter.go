package chunker

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// frontMatter is what a file says about itself before its text.
type frontMatter struct {
	title, description string
	metadata           map[string]string
	by                 By       // mcp_chunking_hint, empty without one
	strategy           *Options // mcp_strategy, nil without one
	end                int      // offset of the first byte after it
	problems           []Problem
}

// readFrontMatter reads YAML between a first line "---" and "---" or "...", or
// TOML between two lines "+++". Without a closing line there is none.
func readFrontMatter(text []byte) frontMatter {
	opening, rest, _ := bytes.Cut(text, newline)
	switch string(bytes.TrimRight(opening, " \t")) {
	case "---":
		block, end := fenced(text, len(text)-len(rest), "---", "...")
		if end < 0 {
			return frontMatter{}
		}
		return readYAML(block, end)
	case "+++":
		block, end := fenced(text, len(text)-len(rest), "+++")
		if end < 0 {
			return frontMatter{}
		}
		f := frontMatter{end: end}
		f.readLines(block, '=')
		return f
	}
	return frontMatter{}
}

// fenced returns the lines of text from start up to the first line that is one
// of closings, and the offset after that line; -1 if there is none.
func fenced(text []byte, start int, closings ...string) (block []byte, end int) {
	for at := start; at < len(text); {
		line, _, _ := bytes.Cut(text[at:], newline)
		next := min(at+len(line)+1, len(text))
		for _, closing := range closings {
			if string(bytes.TrimRight(line, " \t")) == closing {
				return text[start:at], next
			}
		}
		at = next
	}
	return nil, -1
}

// problem notes a problem on a line of the block, counted from 1. The block
// begins on line 2 of the file.
func (f *frontMatter) problem(line int, format string, args ...any) {
	f.problems = append(f.problems, Problem{line + 1, fmt.Sprintf(format, args...)})
}

// readLines reads title and description from the lines of a block that are not
// indented, up to the first TOML table. separator is ':' or '='.
func (f *frontMatter) readLines(block []byte, separator byte) {
	for line := range bytes.SplitSeq(block, newline) {
		if separator == '=' && bytes.HasPrefix(line, []byte("[")) {
			return
		}
		key, value, ok := bytes.Cut(line, []byte{separator})
		if !ok {
			continue
		}
		switch string(bytes.TrimRight(key, " \t")) {
		case "title":
			setOnce(&f.title, unquote(string(value)))
		case "description":
			setOnce(&f.description, unquote(string(value)))
		}
	}
}

func setOnce(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// unquote returns a value written on one line without its quotes; the opening
// of a block value (| or >) has none.
func unquote(value string) string {
	value = strings.TrimSpace(value)
	if value == "" || value[0] == '|' || value[0] == '>' {
		return ""
	}
	switch value[0] {
	case '"':
		if quoted, err := strconv.QuotedPrefix(value); err == nil {
			inner, _ := strconv.Unquote(quoted)
			return fold(inner)
		}
	case '\'':
		if inner, _, closed := strings.Cut(value[1:], "'"); closed {
			return fold(inner)
		}
	}
	value, _, _ = strings.Cut(value, " #")
	return fold(value)
}
