package chunker

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// frontMatter holds the settings and metadata at the start of a file.
type frontMatter struct {
	title, description string
	metadata           map[string]string
	by                 By       // mcp_chunking_hint, or empty
	strategy           *Options // mcp_strategy, or nil
	end                int      // offset of the first byte after the front matter
	problems           []Problem
}

// FrontMatter splits src into its YAML front matter and the text after it. It first
// cleans src, as Split does. Front matter starts with the line "---" at the beginning
// of the file and ends with a line "---" or "...". The returned yaml starts at line 2
// of the file and is not validated. If the closing line is missing, everything is
// returned as text.
func FrontMatter(src []byte) (yaml, text []byte) {
	clean, _ := normalise(src)
	yaml, end := fenced(clean, "---", "---", "...")
	return yaml, clean[end:]
}

// languageKeys lists the front matter keys that declare a page's language.
var languageKeys = []string{"lang", "language", "locale"}

// Languages returns the languages that the front matter of src declares, in line order
// and with the original spelling. The values can be language codes like "de" and
// "pt-BR", but also names like "python". Languages reads lines at any depth, because a
// facet may declare the language too.
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

// readFrontMatter reads YAML that is delimited as FrontMatter requires, or TOML
// between two "+++" lines.
func readFrontMatter(text []byte) frontMatter {
	if block, end := fenced(text, "---", "---", "..."); end > 0 {
		return readYAML(block, end)
	}
	block, end := fenced(text, "+++", "+++")
	f := frontMatter{end: end}
	f.readLines(block, '=')
	return f
}

// fenced returns the lines between the first line of text and a closing line, and the
// offset after the closing line. The first line must equal opening, and the closing
// line is the next line that equals one of closings. If text has no such block, the
// offset is 0.
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

// problem records a problem in a line of the block. line is 1-based, and the block
// begins on line 2 of the file.
func (f *frontMatter) problem(line int, format string, args ...any) {
	f.problems = append(f.problems, Problem{line + 1, fmt.Sprintf(format, args...)})
}

// readLines reads the title and description from the block's unindented lines, up to
// the first TOML table. separator is ':' or '='.
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

// unquote returns a single-line value without its quotes. For the first line of a block
// value (| or >), it returns an empty string.
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
