package board

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

const (
	// pageEntries and pageBytes are how many log entries a page has at most, and
	// their size. Some agents' output comes in entries of 8 KiB.
	pageEntries = 200
	pageBytes   = 256 << 10
	// newsWait is how long a window waits for news of an attempt. Proxies close
	// a connection that is silent for 30 seconds.
	newsWait = 20 * time.Second
	// outputBytes is the number of bytes of a command's output that are shown.
	// The raw log contains the whole output.
	outputBytes = 4 << 10
)

// logView holds the conversation of all runs, or part of it.
type logView struct {
	Process   string // ID of the newest run; empty if nothing has run
	Entries   []entry
	After     int64  // log revision after which the script asks for news
	Older     string // position of older entries: a run and an index; empty if there are none
	Truncated bool
	Ended     bool
	Failures  int
	First     string // ID of the first failure's element
	Searched  string // words for which the entries were searched
	Newest    bool   // whether these are only the newest of the matches
	Part      bool   // whether there are newer entries on another page
	Gone      bool   // whether the entry of a link was not found
}

// entry is a log entry in the form in which the page shows it.
type entry struct {
	ID           string // ID of the entry's element
	Link         string // address that leads to the entry, from any page of the attempt; empty for a run
	Kind         string // CSS class: said, asked, thought, tool, note, wrong, raw or run
	Who          string // the speaker, for people who cannot see colours
	Tool         string // tool name
	Text, Detail string
	Status, Tone string // for a tool call that did not succeed
	Pre          bool   // whether Text is preformatted
	Todos        []todo
	Images       []string // names of images in a person's message
	Jump         string   // "fail" or "ask" if a keyboard shortcut can jump to this entry
	At           moment
	SameMinute   bool // whether the entry above has the same time of day, which is then not repeated
}

// todo is a step in a plan.
type todo struct{ Class, Mark, Text string }

// short returns the end of an ID, for element IDs.
func short(id string) string { return id[max(0, len(id)-12):] }

func entryID(process string, index int64) string {
	return "e-" + short(process) + "-" + strconv.FormatInt(index, 10)
}

// linked returns the part of the conversation with the entry that a link names: the newest
// part if the entry is in it, or else the part with the entry in its middle.
func (b *Board) linked(ctx context.Context, m *tasks.Manager, a tasks.Attempt, channel tasks.Channel, id string) (v logView, err error) {
	has := func(v logView) bool { return slices.ContainsFunc(v.Entries, func(e entry) bool { return e.ID == id }) }
	if v, err = b.conversation(ctx, m, a, channel, ""); err != nil || has(v) {
		return v, err
	}
	processes, err := m.Processes(ctx, a.ID)
	for _, p := range processes {
		at := strings.LastIndexByte(id, '-') + 1
		index, bad := strconv.ParseInt(id[at:], 10, 64)
		if bad != nil || id != entryID(p.ID, index) {
			continue
		}
		part, err := b.conversation(ctx, m, a, channel, p.ID+":"+strconv.FormatInt(index+pageEntries/2, 10))
		if err == nil && !has(part) { // the entries after it are large
			part, err = b.conversation(ctx, m, a, channel, p.ID+":"+strconv.FormatInt(index+1, 10))
		}
		if err != nil || has(part) {
			return part, err
		}
	}
	v.Gone = true
	return v, err
}

// readLog converts a page of one run's log to entries. If paths is not nil, it
// shortens the paths in them.
func readLog(p tasks.LogPage, paths *strings.Replacer) (entries []entry) {
	for _, e := range p.Entries {
		one := readEntry(e)
		one.ID = entryID(p.ProcessID, e.Index)
		one.Link = "?entry=" + one.ID + "#" + one.ID
		if paths != nil && one.Kind == "tool" {
			one.Text = paths.Replace(one.Text)
		}
		entries = append(entries, one)
	}
	return entries
}

// pathsOf returns a replacer that makes paths relative to the repository. It
// removes the prefixes that consist of the attempt's folders.
func pathsOf(a tasks.Attempt) *strings.Replacer {
	var pairs []string
	for _, r := range a.Repos {
		name := ""
		if len(a.Repos) > 1 {
			name = r.Name + "/"
		}
		pairs = append(pairs, filepath.Join(a.Dir, r.Name)+string(filepath.Separator), name)
	}
	return strings.NewReplacer(append(pairs, a.Dir+string(filepath.Separator), "")...)
}

// runEntry returns the entry that separates two runs.
func runEntry(p tasks.Process) entry {
	text := map[tasks.Reason]string{tasks.Setup: "setup script", tasks.Cleanup: "cleanup script"}[p.Reason]
	if text == "" {
		text = "run"
	}
	return entry{ID: "r-" + short(p.ID), Kind: "run", Who: "Run", Text: text, At: moment{p.Created}}
}

// conversation returns the newest entries of all runs. If before is not empty,
// it returns the entries before that position. before has the form of
// logView.Older.
func (b *Board) conversation(ctx context.Context, m *tasks.Manager, a tasks.Attempt, channel tasks.Channel, before string) (v logView, err error) {
	processes, err := m.Processes(ctx, a.ID)
	if err != nil {
		return v, err
	}
	run, index, _ := strings.Cut(before, ":")
	paths, room, most := pathsOf(a), pageEntries, int64(pageBytes)
	v.Part = before != ""
	for i, p := range slices.Backward(processes) {
		if run != "" && p.ID != run {
			continue
		}
		q := tasks.LogQuery{AttemptID: a.ID, ProcessID: p.ID, Limit: room, MaxBytes: most, Channel: channel}
		if n, err := strconv.ParseInt(index, 10, 64); err == nil && run != "" {
			q.Before = &n
		}
		run = ""
		found, err := m.Logs(ctx, q)
		if err != nil {
			return v, err
		}
		if v.Process == "" && before == "" {
			v.Process, v.After, v.Ended = found.ProcessID, found.Revision, found.Ended
		}
		v.Truncated = v.Truncated || found.Truncated
		part := readLog(found, paths)
		for i := range part {
			if channel == tasks.Raw {
				part[i].Link = strings.Replace(part[i].Link, "?", "?channel=raw&", 1)
			}
		}
		if found.Next == nil && len(processes) > 1 {
			part = append([]entry{runEntry(p)}, part...)
		}
		v.Entries = append(part, v.Entries...)
		for _, e := range found.Entries {
			most -= int64(len(e.Entry))
		}
		if room -= len(found.Entries); found.Next != nil {
			v.Older = p.ID + ":" + strconv.FormatInt(*found.Next, 10)
			break
		}
		if min(int64(room), most) <= 0 && i > 0 {
			v.Older = processes[i-1].ID + ":"
			break
		}
	}
	v.finish()
	return v, nil
}

// finish counts the failures and hides repeated times.
func (v *logView) finish() {
	quietTimes(v.Entries)
	for _, e := range v.Entries {
		if e.Jump == "fail" {
			if v.Failures++; v.First == "" {
				v.First = e.ID
			}
		}
	}
}

// quietTimes marks the entries whose time is that of the entry above, to the
// minute. A run begins with a time.
func quietTimes(entries []entry) {
	var last int64
	for i, e := range entries {
		minute := e.At.Unix() / 60
		if e.At.IsZero() || e.Kind == "run" {
			minute = 0
		}
		entries[i].SameMinute, last = minute == last, minute
	}
}

const (
	// searchedEntries is the number of a log's newest entries that are
	// searched. foundEntries is the maximum number of matches that are shown; they
	// are also at most about pageBytes long.
	searchedEntries = 20_000
	foundEntries    = 200
	searchPage      = 1000
)

// plainWord matches a word that stands in an entry's JSON as it stands on the page.
var plainWord = regexp.MustCompile(`^[a-z0-9_./:-]+$`)

// mayHave returns a function that reports whether an entry's JSON may contain the
// words. To read the JSON of each entry of a long log would take much longer.
func mayHave(words string) func(entry []byte) bool {
	var plain [][]byte
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if plainWord.MatchString(word) {
			plain = append(plain, []byte(word))
		}
	}
	return func(entry []byte) bool {
		entry = bytes.ToLower(entry)
		return !slices.ContainsFunc(plain, func(word []byte) bool { return !bytes.Contains(entry, word) })
	}
}

// find returns the entries of all runs that contain the search words, oldest
// first.
func (b *Board) find(ctx context.Context, m *tasks.Manager, a tasks.Attempt, words string) (v logView, err error) {
	processes, err := m.Processes(ctx, a.ID)
	if err != nil {
		return v, err
	}
	v.Searched, v.Part = words, true
	paths, left, room, may := pathsOf(a), searchedEntries, pageBytes, mayHave(words)
	for _, p := range slices.Backward(processes) {
		q := tasks.LogQuery{AttemptID: a.ID, ProcessID: p.ID, Limit: searchPage}
		for {
			if v.Newest = left <= 0 || len(v.Entries) >= foundEntries || room <= 0; v.Newest {
				break
			}
			found, err := m.Logs(ctx, q)
			if err != nil {
				return v, err
			}
			left -= max(1, len(found.Entries))
			found.Entries = slices.DeleteFunc(found.Entries, func(e tasks.LogEntry) bool { return !may(e.Entry) })
			part := slices.DeleteFunc(readLog(found, paths), func(e entry) bool { return !e.has(words) })
			from := len(part)
			for ; from > 0 && room > 0; from-- {
				room -= len(part[from-1].Text) + len(part[from-1].Detail)
			}
			v.Newest, v.Entries = from > 0, append(part[from:], v.Entries...)
			if q.Before = found.Next; q.Before == nil {
				break
			}
		}
	}
	v.finish()
	return v, nil
}

func (e entry) has(words string) bool {
	text := strings.ToLower(e.Tool + "\n" + e.Text + "\n" + e.Detail)
	for _, t := range e.Todos {
		text += "\n" + strings.ToLower(t.Text)
	}
	return strings.Contains(text, strings.ToLower(words))
}

// kinds maps kinds of entries to CSS classes and speakers.
var kinds = map[logs.Kind][2]string{
	logs.UserMessage: {"asked", "You"}, logs.UserFeedback: {"asked", "You"}, logs.AssistantMessage: {"said", "Agent"},
	logs.Thinking: {"thought", "Agent thinks"}, logs.SystemMessage: {"note", "Note"}, logs.ErrorMessage: {"wrong", "Error"},
	logs.ToolUse: {"tool", "Tool"}, logs.UsageReport: {"note", "Usage"}, logs.Plan: {"note", "Plan"},
}

// tones maps the status of a tool call to a CSS class.
var tones = map[string]string{"success": "good", "failed": "alarm", "denied": "alarm", "timed_out": "alarm", "pending_approval": "warn"}

func readEntry(e tasks.LogEntry) entry {
	var out entry
	var outer struct {
		Type    string
		Content json.RawMessage
	}
	if json.Unmarshal(e.Entry, &outer) != nil {
		return entry{Kind: "raw", Text: string(e.Entry), Pre: true}
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
		return entry{Kind: "raw", Text: string(outer.Content), Pre: true}
	}
	kind, ok := kinds[n.Type.Kind]
	if !ok {
		kind = [2]string{"note", string(n.Type.Kind)} // a kind of entry from a newer version
	}
	out.Kind, out.Who, out.Text = kind[0], kind[1], n.Content
	out.At = moment{n.At}
	if out.Kind == "asked" {
		out.Text, out.Images = tasks.SplitImages(out.Text)
	}
	if s := n.Type.Status; s != nil && s.Status != "created" && s.Status != "success" {
		out.Status, out.Tone = strings.ReplaceAll(s.Status, "_", " "), tones[s.Status]
	}
	if n.Type.Kind == logs.ToolUse {
		out.Tool = n.Type.Tool
		if out.Text == out.Tool {
			out.Text = ""
		}
	}
	todos := n.Type.Todos
	if a := n.Type.Action; a != nil {
		out.Detail = detailOf(a)
		todos = append(todos, a.Todos...)
		if a.Plan != "" && out.Text != a.Plan {
			out.Detail = a.Plan + "\n" + out.Detail
		}
	}
	for _, t := range todos {
		out.Todos = append(out.Todos, todoOf(t))
	}
	switch {
	case out.Tone == "alarm", out.Kind == "wrong":
		out.Jump = "fail"
	case out.Tone == "warn", strings.Contains(out.Tool, "ask"):
		out.Jump = "ask"
	}
	return out
}

func todoOf(t logs.Todo) todo {
	switch t.Status {
	case "completed":
		return todo{"done", "☑", t.Content}
	case "in_progress":
		return todo{"doing", "▶", t.Content}
	}
	return todo{"", "☐", t.Content}
}

// detailOf returns a tool call's details: a command's output or a file's change.
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

// newsView is the answer to the script's request for news.
type newsView struct {
	HTML    string `json:"html"` // new or changed entries
	Head    string `json:"head"` // the attempt's current state
	After   int64  `json:"after"`
	Process string `json:"process"`
	Live    bool   `json:"live"`
	Again   bool   `json:"again"` // whether the rest of the page has changed too, because another run has begun or all runs have ended
}

// news answers when there is news in the log on a page, or after a timeout.
func (b *Board) news(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(b.stopped, cancel)()
	id := r.PathValue("id")
	after, _ := strconv.ParseInt(r.FormValue("after"), 10, 64)
	q := tasks.LogQuery{AttemptID: id, ProcessID: r.FormValue("process"), Limit: pageEntries, AfterRevision: &after, Wait: newsWait}
	if q.ProcessID == "" { // there is no log to wait for, because no run has begun
		q.AfterRevision, q.Wait = nil, 0
		select {
		case <-ctx.Done(): // ignore it here: Logs returns the error
		case <-time.After(time.Second):
		}
	}
	found, err := m.Logs(ctx, q)
	if b.stopped.Err() != nil {
		http.Error(w, "the server is stopping", http.StatusServiceUnavailable) // the script retries
		return nil
	}
	if err != nil {
		return err
	}
	one, err := b.standingOf(ctx, m, id)
	if err != nil {
		return err
	}
	v := newsView{After: found.Revision, Process: found.ProcessID, Live: one.Live}
	if found.NextAfter != nil {
		v.After = *found.NextAfter
	}
	entries := readLog(found, pathsOf(one.Attempt))
	quietTimes(entries)
	switch {
	case len(entries) > 0:
	case found.Newer != "": // this run has ended, and another run has begun
		processes, err := m.Processes(ctx, id)
		if err != nil {
			return err
		}
		for i, p := range processes {
			if i > 0 && processes[i-1].ID == q.ProcessID {
				v.Process, v.After, v.Again = p.ID, 0, true
				entries = append(entries, runEntry(p))
			}
		}
	case !one.Live && found.Ended:
		if v.Again = r.FormValue("live") != ""; !v.Again {
			b.awaitEvent(ctx, m, id)
			if one, err = b.standingOf(ctx, m, id); err != nil {
				return err
			}
		}
	}
	v.Again = v.Again || q.ProcessID == "" && found.ProcessID != ""
	var html, head bytes.Buffer
	if err := b.attempt.ExecuteTemplate(&html, "entries", entries); err != nil {
		return err
	}
	if err := b.attempt.ExecuteTemplate(&head, "standing", one); err != nil {
		return err
	}
	v.HTML, v.Head = html.String(), head.String()
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}

// awaitEvent waits for the attempt's next event, or for newsWait.
func (b *Board) awaitEvent(ctx context.Context, m *tasks.Manager, id string) {
	ctx, cancel := context.WithTimeout(ctx, newsWait)
	defer cancel()
	watcher, err := m.Watch(ctx, -1, id)
	if err != nil {
		return // the script asks again
	}
	defer watcher.Close()
	_, _ = watcher.Next(ctx) // the page is created from the state after the event, whatever the event is
}
