package chat

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// kind is the type of an event.
type kind int

const (
	starts  kind = iota // the run started; nothing was said yet
	says                // more text
	thinks              // more thinking
	uses                // a tool call or its result
	passes              // an entry of another kind, unchanged
	asks                // a question or its new state
	replies             // the result of an answer in the last message
	ends                // the run ended
)

// event is one step of a stream, independent of the stream's format.
type event struct {
	kind  kind
	entry int64  // index of the log entry: says, thinks, uses, passes
	first bool   // says, thinks: the start of a new text block
	text  string // says, thinks: the new part; ends: why the run failed, or ""
	tool  tool
	raw   json.RawMessage // passes
	asked question
	reply result
}

// tool is a tool call by the agent.
type tool struct {
	Name   string          `json:"toolName"`
	Said   string          `json:"content,omitempty"`
	Status string          `json:"status,omitempty"` // as in the log
	Reason string          `json:"reason,omitempty"`
	Action json.RawMessage `json:"action,omitempty"`
}

func (t *tool) failed() bool {
	return t.Status == "failed" || t.Status == "denied" || t.Status == "timed_out"
}

// place is a client's position in a run: a revision of the process's log, and the
// number of bytes of the last entry's text that the client has. That text may
// still grow or be replaced, so place also holds a checksum of these bytes.
type place struct {
	process  string
	revision int64
	entry    int64 // index of the last text's entry; -1 if none
	length   int
	sum      uint32
}

// String returns the place as an event ID.
func (p place) String() string {
	return fmt.Sprintf("%s:%d:%d:%d:%x", p.process, p.revision, p.entry, p.length, p.sum)
}

// readPlace parses an event ID.
func readPlace(s string) (p place, err error) {
	wrong := fault.New(badRequest, fmt.Sprintf("Last-Event-ID %q does not belong to this stream", textutil.Shorten(s, 200)), "send the last event's ID unchanged, or omit the header to read the run from its start")
	fields := strings.Split(s, ":")
	if len(fields) != 5 || fields[0] == "" {
		return p, wrong
	}
	revision, err1 := strconv.ParseInt(fields[1], 10, 64)
	entry, err2 := strconv.ParseInt(fields[2], 10, 64)
	length, err3 := strconv.Atoi(fields[3])
	sum, err4 := strconv.ParseUint(fields[4], 16, 32)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || revision < 0 || entry < -1 || length < 0 {
		return p, wrong
	}
	return place{fields[0], revision, entry, length, uint32(sum)}, nil
}

// reader converts log entries to events. Create it with readerAt.
type reader struct{ at place }

func readerAt(p place) *reader { return &reader{p} }

// follow continues with the log of another process.
func (r *reader) follow(process string) { r.at = place{process: process, entry: -1} }

// read converts an entry to an event. ok is false if there is nothing to send.
func (r *reader) read(e Entry) (ev event, ok bool) {
	r.at.revision = max(r.at.revision, e.Revision)
	ev = event{kind: passes, entry: e.Index, raw: e.Data}
	var known struct {
		Type    string
		Content struct {
			Type struct {
				Kind   string                           `json:"type"`
				Tool   string                           `json:"tool_name"`
				Action json.RawMessage                  `json:"action_type"`
				Status *struct{ Status, Reason string } `json:"status"`
			} `json:"entry_type"`
			Content string `json:"content"`
		}
	}
	if json.Unmarshal(e.Data, &known) != nil || known.Type != "NORMALIZED_ENTRY" {
		return ev, true
	}
	c := known.Content
	switch c.Type.Kind {
	case "assistant_message":
		ev.kind = says
	case "thinking":
		ev.kind = thinks
	case "tool_use":
		ev.kind = uses
		ev.tool = tool{Name: c.Type.Tool, Said: c.Content, Action: c.Type.Action}
		if c.Type.Status != nil {
			ev.tool.Status, ev.tool.Reason = c.Type.Status.Status, c.Type.Status.Reason
		}
		return ev, true
	default:
		return ev, true
	}
	return r.text(ev, c.Content)
}

// text returns the new part of an entry's text. If the text was rewritten instead
// of extended, a stream of text cannot express the change, so the whole entry is
// sent unchanged.
func (r *reader) text(ev event, all string) (event, bool) {
	switch sent := r.at.length; {
	case ev.entry > r.at.entry:
		r.at.entry, r.at.length, r.at.sum = ev.entry, len(all), sumOf(all)
		ev.text, ev.first = all, true
		return ev, all != ""
	case ev.entry == r.at.entry && sent <= len(all) && sumOf(all[:sent]) == r.at.sum:
		ev.text = all[sent:]
		r.at.length, r.at.sum = len(all), sumOf(all)
		return ev, ev.text != ""
	}
	ev.kind = passes
	return ev, true
}

func sumOf(text string) uint32 { return crc32.ChecksumIEEE([]byte(text)) }
