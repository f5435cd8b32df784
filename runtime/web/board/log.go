package board

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

const (
	// pageEntries is how many entries of a log a page has.
	pageEntries = 200
	// newsWait is how long a window waits for news of an attempt: less than the
	// 30 seconds after which proxies close what is silent.
	newsWait = 20 * time.Second
	// outputBytes is how much of a command's output is shown; the raw log has all.
	outputBytes = 4 << 10
)

// logView is a part of a log.
type logView struct {
	Process   string // empty: nothing has run
	Entries   []entry
	After     int64 // revision to ask for news after
	Older     int64 // index to ask for older ones before; -1: there are none
	Truncated bool
	Ended     bool
}

// entry is one line of a log as it is shown.
type entry struct {
	Index        int64
	Kind         string // class: said, asked, thought, tool, note, wrong, raw
	Who          string // for who cannot see the class
	Text, Detail string
	Status, Tone string // of a tool call
	Pre          bool   // Text is not set
}

func readLog(p tasks.LogPage) logView {
	v := logView{Process: p.ProcessID, After: p.Revision, Older: -1, Truncated: p.Truncated, Ended: p.Ended}
	if p.NextAfter != nil {
		v.After = *p.NextAfter
	}
	if p.Next != nil {
		v.Older = *p.Next
	}
	for _, e := range p.Entries {
		v.Entries = append(v.Entries, readEntry(e))
	}
	return v
}

// kinds are the classes of entries, and who speaks.
var kinds = map[logs.Kind][2]string{
	logs.UserMessage: {"asked", "You"}, logs.UserFeedback: {"asked", "You"}, logs.AssistantMessage: {"said", "Agent"},
	logs.Thinking: {"thought", "Agent thinks"}, logs.SystemMessage: {"note", "Note"}, logs.ErrorMessage: {"wrong", "Error"},
	logs.ToolUse: {"tool", "Tool"}, logs.UsageReport: {"note", "Usage"}, logs.Plan: {"note", "Plan"},
}

// tones are the classes of a tool call's status.
var tones = map[string]string{"success": "good", "failed": "alarm", "denied": "alarm", "timed_out": "alarm", "pending_approval": "warn"}

func readEntry(e tasks.LogEntry) entry {
	out := entry{Index: e.Index}
	var outer struct {
		Type    string
		Content json.RawMessage
	}
	if json.Unmarshal(e.Entry, &outer) != nil {
		return entry{Index: e.Index, Kind: "raw", Text: string(e.Entry), Pre: true}
	}
	if outer.Type != "NORMALIZED_ENTRY" {
		out.Kind, out.Who, out.Pre = "raw", strings.ToLower(outer.Type), true
		if json.Unmarshal(outer.Content, &out.Text) != nil {
			out.Text = string(outer.Content)
		}
		out.Text = strings.TrimSuffix(out.Text, "\n")
		return out
	}
	var n logs.Entry
	if json.Unmarshal(outer.Content, &n) != nil {
		return entry{Index: e.Index, Kind: "raw", Text: string(outer.Content), Pre: true}
	}
	kind, ok := kinds[n.Type.Kind]
	if !ok {
		kind = [2]string{"note", string(n.Type.Kind)} // of a version that knows more
	}
	out.Kind, out.Who, out.Text = kind[0], kind[1], n.Content
	if s := n.Type.Status; s != nil && s.Status != "created" {
		out.Status, out.Tone = strings.ReplaceAll(s.Status, "_", " "), tones[s.Status]
	}
	if a := n.Type.Action; a != nil {
		out.Detail = detailOf(a)
	}
	for _, t := range n.Type.Todos {
		out.Detail += "[" + map[bool]string{true: "x", false: " "}[t.Status == "completed"] + "] " + t.Content + "\n"
	}
	return out
}

// detailOf is what is behind a tool call: the output of a command, the change of
// a file.
func detailOf(a *logs.Action) string {
	var b strings.Builder
	for _, c := range a.Changes {
		b.WriteString(c.Diff)
		b.WriteString(c.Content)
	}
	switch result := a.Result.(type) {
	case map[string]any:
		if output, ok := result["output"].(string); ok {
			b.WriteString(output)
		} else if value, ok := result["value"].(string); ok {
			b.WriteString(value)
		}
	case string:
		b.WriteString(result)
	}
	text := strings.TrimSpace(b.String())
	if len(text) > outputBytes {
		text = strings.ToValidUTF8(text[:outputBytes], "") + "\n..."
	}
	return text
}

// newsView is what the script is told.
type newsView struct {
	HTML    string `json:"html"` // entries that are new or have changed
	Head    string `json:"head"` // where the attempt stands now
	After   int64  `json:"after"`
	Process string `json:"process"`
	Live    bool   `json:"live"`
	Again   bool   `json:"again"` // the page has to be loaded again: another process runs, or all has ended
}

// news answers when something is new in the log that a page shows, or after a
// while.
func (b *Board) news(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(b.stopped, cancel)()
	id := r.PathValue("id")
	after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64)
	q := tasks.LogQuery{AttemptID: id, ProcessID: r.FormValue("process"), Limit: pageEntries, AfterRevision: &after, Wait: newsWait}
	if q.ProcessID == "" { // it has not begun: there is no log to wait for
		q.AfterRevision, q.Wait = nil, 0
		select {
		case <-ctx.Done(): // as Logs says
		case <-time.After(time.Second):
		}
	}
	found, err := m.Logs(ctx, q)
	if b.stopped.Err() != nil {
		http.Error(w, "the server is stopping", http.StatusServiceUnavailable) // the script tries again
		return nil
	}
	if err != nil {
		return err
	}
	one, err := b.standingOf(ctx, m, id)
	if err != nil {
		return err
	}
	log := readLog(found)
	v := newsView{After: log.After, Process: log.Process, Live: one.Live}
	v.Again = found.Newer != "" || q.ProcessID == "" && log.Process != "" || !one.Live && log.Ended && len(log.Entries) == 0
	var html, head bytes.Buffer
	if err := b.attempt.ExecuteTemplate(&html, "entries", log.Entries); err != nil {
		return err
	}
	if err := b.attempt.ExecuteTemplate(&head, "standing", one); err != nil {
		return err
	}
	v.HTML, v.Head = html.String(), head.String()
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}
