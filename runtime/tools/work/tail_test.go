package work

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func entries(n, size int) (list []tasks.LogEntry) {
	for i := range n {
		list = append(list, tasks.LogEntry{Index: int64(i + 10), Revision: int64(100 + i), Entry: json.RawMessage(`"` + strings.Repeat("x", size) + `"`)})
	}
	return list
}

func shown(l Logs) string {
	text := ""
	for _, e := range l.Page.Entries {
		text += fmt.Sprint(e.Index, " ")
	}
	number := func(p *int64) string {
		if p == nil {
			return "-"
		}
		return fmt.Sprint(*p)
	}
	return text + fmt.Sprintf("cursor %s after %s revision %d more %v cut %v", number(l.Page.NextCursor), number(l.Page.NextAfter), l.Page.NextRevision, l.Page.More, l.Page.Cut)
}

// An answer that would be too long loses entries at the end that the caller goes
// on from, and says where that is.
func TestLogsAreCutWhereTheyGoOn(t *testing.T) {
	before, after := int64(10), int64(14)
	for name, c := range map[string]struct {
		page tasks.LogPage
		in   order
		max  int
		want string
	}{
		"the newest, all":        {tasks.LogPage{Entries: entries(5, 10), Revision: 104}, backward, 1000, "10 11 12 13 14 cursor - after 14 revision 104 more false cut false"},
		"the newest, with older": {tasks.LogPage{Entries: entries(5, 10), Revision: 104, More: true, Next: &before}, backward, 1000, "10 11 12 13 14 cursor 10 after 14 revision 104 more true cut false"},
		"the newest, cut":        {tasks.LogPage{Entries: entries(5, 100), Revision: 104}, backward, 310, "13 14 cursor 13 after 14 revision 104 more true cut true"},
		"one that is too long":   {tasks.LogPage{Entries: entries(5, 1000), Revision: 104}, backward, 310, "14 cursor 14 after 14 revision 104 more true cut true"},
		"newer, cut":             {tasks.LogPage{Entries: entries(5, 100), Revision: 104, NextAfter: &after}, byIndex, 310, "10 11 cursor - after 11 revision 100 more true cut true"},
		"newer, all":             {tasks.LogPage{Entries: entries(5, 100), Revision: 104, NextAfter: &after}, byIndex, 3100, "10 11 12 13 14 cursor - after 14 revision 104 more false cut false"},
		"newer, none":            {tasks.LogPage{Revision: 104, NextAfter: &after}, byIndex, 3100, "cursor - after 14 revision 104 more false cut false"},
		"changed, cut":           {tasks.LogPage{Entries: entries(5, 100), Revision: 104}, byRevision, 310, "10 11 cursor - after 11 revision 101 more true cut true"},
		"changed, none":          {tasks.LogPage{Revision: 104}, byRevision, 310, "cursor - after - revision 104 more false cut false"},
	} {
		if got := shown(logsOf(c.page, c.in, c.max)); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

func TestTurnsAreCutWhereTheyGoOn(t *testing.T) {
	turns := func(n, size int) (list []tasks.Turn) {
		for i := range n {
			list = append(list, tasks.Turn{Index: int64(i), ID: someID, Prompt: strings.Repeat("ä", size/2), Summary: "done"})
		}
		return list
	}
	older := messagesOf(tasks.MessagePage{SessionID: someID, Turns: turns(4, 1000)}, nil, false, 3000)
	if n := len(older.Page.Entries); n != 2 || *older.Page.NextCursor != 2 || !older.Page.More || !older.Page.Cut {
		t.Errorf("older: %d turns, %+v", n, older.Page)
	}
	newer := messagesOf(tasks.MessagePage{SessionID: someID, Turns: turns(4, 1000)}, nil, true, 3000)
	if n := len(newer.Page.Entries); n != 2 || *newer.Page.NextAfter != 1 || newer.Page.NextCursor != nil || !newer.Page.More {
		t.Errorf("newer: %d turns, %+v", n, newer.Page)
	}
	long := messagesOf(tasks.MessagePage{SessionID: someID, Turns: turns(1, 100_000)}, nil, false, 3001)
	if text := long.Page.Entries[0].Prompt; len(text) > 1600 || !strings.HasSuffix(text, "ä [cut]") || long.Page.More || !long.Page.Cut {
		t.Errorf("one long turn has %d bytes, %+v", len(text), long.Page.More)
	}
}

// room is a manager of one project with very many tasks, which have long titles.
type room struct {
	Manager
	tasks int
}

func (r room) Tasks(_ context.Context, q tasks.TaskQuery) (page tasks.TaskPage, err error) {
	from := 0
	fmt.Sscan(q.Cursor, &from)
	for i := from; i < min(from+q.Limit, r.tasks); i++ {
		page.Tasks = append(page.Tasks, tasks.TaskSummary{Task: tasks.Task{ID: someID, Title: fmt.Sprint(i, strings.Repeat("x", 400))}})
		page.Next = fmt.Sprint(i + 1)
	}
	if from+q.Limit >= r.tasks {
		page.Next = ""
	}
	return page, nil
}

func TestLongListsOfTasksArePagedShorter(t *testing.T) {
	list := Options{Open: func(context.Context) (Manager, error) { return room{tasks: 1000}, nil }}.withDefaults().listTasks()
	seen, cursor := 0, ""
	for calls := 0; calls == 0 || cursor != ""; calls++ {
		args := fmt.Sprintf(`{"project_id":%q,"limit":500,"cursor":%q}`, someID, cursor)
		got, err := list.Call(t.Context(), contract.Caller{}, json.RawMessage(args))
		if err != nil || len(got.Text[0]) > 64<<10 || calls > 30 {
			t.Fatalf("call %d: %d bytes, %v", calls, len(got.Text[0]), err)
		}
		var out Tasks
		if err := json.Unmarshal([]byte(got.Text[0]), &out); err != nil {
			t.Fatal(err)
		}
		for _, one := range out.Tasks {
			if !strings.HasPrefix(one.Title, fmt.Sprint(seen, "x")) {
				t.Fatalf("task %d is %.10s", seen, one.Title)
			}
			seen++
		}
		cursor = ""
		if out.NextCursor != nil {
			cursor = *out.NextCursor
		}
	}
	if seen != 1000 {
		t.Errorf("%d tasks in all pages, want 1000", seen)
	}
}
