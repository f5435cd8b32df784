package chunker

import (
	"bytes"
	"fmt"
	"slices"
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

// FrontMatter splits src, cleaned as by Split, into the YAML lines between a
// first line "---" and "---" or "...", and the text after that. It does not
// validate the YAML, which starts on line 2. Without a closing line everything
// is text.
func FrontMatter(src []byte) (yaml, text []byte) {
	clean, _ := normalise(src)
	yaml, end := fenced(clean, "---", "---", "...")
	return yaml, clean[end:]
}

// languageKeys are what front matter calls the language of a page.
var languageKeys = []string{"lang", "language", "locale"}

// Languages returns what the front matter of src gives as the page's language, in
// the order of the lines and as it is written: "de", "pt-BR", but also "python".
// It reads lines, at any depth, so that a facet counts too.
func Languages(src []byte) (declared []string) {
	clean, _ := normalise(src[:min(len(src), maxFrontMatter)])
	block, end := fenced(clean, "---", "---", "...")
	separator := []byte{':'}
	if end == 0 {
		block, _ = fenced(clean, "+++", "+++")
		separator[0] = '='
	}
	for line := range bytes.SplitSeq(block, newline) {
		key, value, ok := bytes.Cut(line, separator)
		if ok && slices.Contains(languageKeys, strings.Trim(string(key), " \t\"'")) {
			declared = append(declared, unquote(string(value)))
		}
	}
	return declared
}

// readFrontMatter reads YAML as FrontMatter has it, or TOML between two lines
// "+++".
func readFrontMatter(text []byte) frontMatter {
	if block, end := fenced(text, "---", "---", "..."); end > 0 {
		return readYAML(block, end)
	}
	block, end := fenced(text, "+++", "+++")
	f := frontMatter{end: end}
	f.readLines(block, '=')
	return f
}

// fenced returns the lines of text between a first line that is opening and the
// next that is one of closings, and the offset after that; 0 if it is not so.
func fenced(text []byte, opening string, closings ...string) (block []byte, end int) {
	start := 0
	for line := range bytes.Lines(text) {
		mark := string(bytes.TrimRight(line, " \t\n"))
		end += len(line)
		switch {
		case start == 0 && mark != opening:
			return nil, 0
		case start == 0:
			start = end
		case slices.Contains(closings, mark):
			return text[start : end-len(line)], end
		}
	}
	return nil, 0
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
