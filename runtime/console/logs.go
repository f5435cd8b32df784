package console

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/deskhand/deskhand/runtime/tools/work"
)

// LogPrinter prints log entries for people. If an entry has grown since it was printed,
// LogPrinter prints only the new text.
type LogPrinter struct {
	to    *Console
	paint Paint
	said  map[int64]string // printed text, by entry index
	open  int64            // index of the entry whose line is unfinished; -1 if there is none
	err   error
}

// NewLogPrinter returns a printer that writes to stdout.
func NewLogPrinter(c *Console) *LogPrinter {
	return &LogPrinter{to: c, paint: PainterFor(c.Stdout), said: map[int64]string{}, open: -1}
}

// Print prints an entry, or its new text.
func (p *LogPrinter) Print(e work.LogEntry) {
	text, raw := entryText(e.Entry)
	if raw {
		p.EndLine()
		p.write(text + "\n")
		return
	}
	before, known := p.said[e.Index]
	p.said[e.Index] = text
	rest, grown := strings.CutPrefix(text, before)
	switch {
	case known && text == before || text == "":
		return
	case known && grown && p.open == e.Index:
		p.write(rest)
	default:
		p.EndLine()
		p.write(text)
	}
	p.open = e.Index
}

// EndLine ends the unfinished line.
func (p *LogPrinter) EndLine() {
	if p.open >= 0 {
		p.write("\n")
		p.open = -1
	}
}

// End ends the last line and returns the first write error.
func (p *LogPrinter) End() error {
	p.EndLine()
	return p.err
}

func (p *LogPrinter) write(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.to.Stdout, p.paint.Plain(text))
	}
}

// entryText returns an entry's text. raw reports whether the text is an unchanged
// line of the agent's output.
func entryText(entry json.RawMessage) (text string, raw bool) {
	var e struct {
		Type    string
		Content json.RawMessage
	}
	if json.Unmarshal(entry, &e) != nil {
		return string(entry), false
	}
	if e.Type != "NORMALIZED_ENTRY" {
		if json.Unmarshal(e.Content, &text) != nil {
			return string(entry), true
		}
		return strings.TrimSuffix(text, "\n"), true
	}
	var n struct {
		Content   string
		EntryType struct {
			Type     string
			ToolName string `json:"tool_name"`
			Status   struct{ Status string }
		} `json:"entry_type"`
	}
	if json.Unmarshal(e.Content, &n) != nil {
		return string(e.Content), false
	}
	switch text = strings.TrimRight(n.Content, "\n"); n.EntryType.Type {
	case "user_message", "user_feedback":
		return Marked("> ", text), false
	case "thinking":
		return Marked("  ", text), false
	case "tool_use":
		if name := n.EntryType.ToolName; name != "" && !strings.HasPrefix(text, name) {
			text = name + " " + text
		}
		if status := n.EntryType.Status.Status; status != "" && status != "created" {
			text += " [" + status + "]"
		}
		return "* " + text, false
	case "error_message":
		return "! " + text, false
	case "system_message":
		return "- " + text, false
	}
	return text, false
}

// Marked returns text with mark before each line.
func Marked(mark, text string) string {
	return mark + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+mark)
}

// PatchLine returns a line of a patch in its colour.
func (p Paint) PatchLine(line string) string {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
		return p.Bold(line)
	case strings.HasPrefix(line, "+"):
		return p.Code(line, "32")
	case strings.HasPrefix(line, "-"):
		return p.Code(line, "31")
	case strings.HasPrefix(line, "@@"):
		return p.Path(line)
	}
	return p.Plain(line)
}
