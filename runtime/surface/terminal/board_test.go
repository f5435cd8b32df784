package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// bench is a Work in memory.
type bench struct {
	columns []tasks.CardColumn
	orders  []Order
	fail    error // what Do returns
	log     string
}

func (w *bench) Board(context.Context) ([]tasks.Project, []tasks.CardColumn, error) {
	return []tasks.Project{{ID: "p1", Name: "shop"}, {ID: "p2", Name: "site"}}, w.columns, nil
}

func (w *bench) Costs(context.Context) (Costs, error) {
	dear, unknown := tasks.Usage{Runs: 2, TokensIn: 1200, TokensOut: 30, Cost: 1_250_000}, tasks.Usage{Runs: 1, Silent: 1}
	return Costs{
		Tasks: map[string]tasks.Usage{"t3": dear},
		Today: []tasks.UsageGroup{{Key: "claude", Usage: dear}, {Key: "shelly", Usage: unknown}},
		Total: tasks.Usage{Runs: 3, TokensIn: 1200, TokensOut: 30, Cost: 1_250_000, Silent: 1},
	}, nil
}

func (w *bench) Attempts(_ context.Context, task string) ([]tasks.AttemptSummary, error) {
	return []tasks.AttemptSummary{{Attempt: tasks.Attempt{ID: "attempt-" + task}}}, nil
}

func (w *bench) Status(_ context.Context, id string) (tasks.AttemptStatus, error) {
	return tasks.AttemptStatus{Attempt: tasks.Attempt{ID: id}, State: tasks.Completed, Executor: "fake", Usage: tasks.Usage{Runs: 1, TokensIn: 7}}, nil
}

func (w *bench) Undoable(_ context.Context, attempt string) error {
	if attempt == "attempt-t4" {
		return errors.New("attempt t4 was not landed")
	}
	return nil
}

func (w *bench) Agents(context.Context) ([]string, error) { return []string{"claude", "codex"}, nil }

func (w *bench) Do(_ context.Context, o Order) (Result, error) {
	w.orders = append(w.orders, o)
	err := w.fail
	w.fail = nil
	if o.Act == ActNew {
		w.columns = append(w.columns, tasks.CardColumn{Status: tasks.Todo, Cards: []tasks.Card{carded("new", o.Text, tasks.Todo, o.Project)}})
		return Result{Told: "added", Task: "new"}, nil
	}
	return Result{Told: "done"}, err
}

func (w *bench) Follow(_ context.Context, _ string, to io.Writer) error {
	_, err := io.WriteString(to, w.log)
	return err
}

func (w *bench) Diff(_ context.Context, _ string, to io.Writer) error {
	_, err := io.WriteString(to, "diff --git a/x b/x\n+new \x1b[31mline\n")
	return err
}

func (w *bench) Watch(context.Context, func()) error  { return nil }
func (w *bench) Inbox(context.Context, *Device) error { return nil }

func carded(id, title string, status tasks.Status, project string) tasks.Card {
	c := tasks.Card{TaskSummary: tasks.TaskSummary{Task: tasks.Task{ID: id, Title: title, Status: status, ProjectID: project, Updated: time.Now()}}, Project: "shop"}
	if status != tasks.Todo {
		c.AttemptID, c.Executor = "attempt-"+id, "fake"
	}
	return c
}

// boarded returns a board with its tasks read.
func boarded(w *bench, width, height int) *board {
	b := &board{ctx: context.Background(), work: w, now: time.Now()}
	b.send = func(m tea.Msg) { b.Update(m) }
	b.Update(tea.WindowSizeMsg{Width: width, Height: height})
	b.settle(b.load())
	return b
}

// settle runs a command and all that follow from it.
func (b *board) settle(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			b.settle(c)
		}
	case nil, tea.QuitMsg:
	default:
		_, next := b.Update(msg)
		b.settle(next)
	}
}

// types presses keys, given as in [formModel.types].
func (b *board) types(keys string) {
	for _, k := range strings.Fields(keys) {
		if word, ok := strings.CutPrefix(k, "'"); ok {
			for _, r := range word {
				b.settle(b.press(key{string(r), string(r)}))
			}
			continue
		}
		text := ""
		if len(k) == 1 {
			text = k
		}
		b.settle(b.press(key{k, text}))
	}
}

func (b *board) text() string { return ansi.Strip(strings.Join(b.view().rows, "\n")) }

func someBoard() *bench {
	return &bench{log: "> go\n* write a.txt\nI am done\n", columns: []tasks.CardColumn{
		{Status: tasks.Todo, Cards: []tasks.Card{carded("t1", "Round prices", tasks.Todo, "p1"), carded("t2", "Fix the footer", tasks.Todo, "p2")}},
		{Status: tasks.InReview, Cards: []tasks.Card{carded("t3", "Write a guide", tasks.InReview, "p1")}},
		{Status: tasks.Done, Cards: []tasks.Card{carded("t4", "Old work", tasks.Done, "p1")}},
	}}
}

// Each key gives the order that the help promises, and none without the person's yes where
// it changes branches or deletes.
func TestBoardKeysGiveOrders(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"l y", "[{land p1 t3 attempt-t3   []}]"},
		{"l n", "[]"},
		{"l enter", "[]"},
		{"p y", "[{pr p1 t3 attempt-t3   []}]"},
		{"x y", "[{discard p1 t3 attempt-t3   []}]"},
		{"u y", "[{undo p1 t3 attempt-t3   []}]"},
		{"a down down down u y", "[]"}, // nothing to undo
		{"t", "[{stop p1 t3 attempt-t3   []}]"},
		{"s 'shorter enter", "[{say p1 t3 attempt-t3  shorter []}]"},
		{"s esc", "[]"},
		{"s enter", "[]"},
		{"r 2", "[{start  t3  codex  []}]"},
		{"r down enter", "[{start  t3  codex  []}]"},
		{"down l", "[]"}, // never started
		{"down r enter", "[{start  t1  claude  []}]"},
		{"n 'more enter", "[{new p1    more []}]"},
		{"tab tab n 'more enter", "[{new p2    more []}]"},
		{"enter s 'ok enter", "[{say p1 t3 attempt-t3  ok []}]"},
		{"enter q l y", "[{land p1 t3 attempt-t3   []}]"},
	} {
		w := someBoard()
		b := boarded(w, 80, 24)
		b.types(c.keys)
		if got := fmt.Sprint(append([]Order{}, w.orders...)); got != c.want {
			t.Errorf("%s: orders %s, want %s\n%s", c.keys, got, c.want, b.text())
		}
	}
}

func TestBoardShowsWhatIsLookedFor(t *testing.T) {
	for _, c := range []struct {
		keys         string
		wants, lacks []string
	}{
		{"", []string{"In review", "Write a guide", "To do", "Round prices", "Fix the footer"}, []string{"Old work"}},
		{"a", []string{"Done", "Old work"}, nil},
		{"a down down down u", []string{"attempt t4 was not landed"}, []string{"[y/N]", "Undo the landing"}},
		{"u", []string{"Undo the landing of attempt"}, nil},
		{"/ 'foot", []string{"Fix the footer"}, []string{"Round prices", "Write a guide"}},
		{"/ 'foot enter", []string{"Fix the footer"}, []string{"Round prices"}},
		{"/ 'foot esc", []string{"Fix the footer", "Round prices"}, nil},
		{"/ 'nothing enter", []string{"No task matches"}, []string{"Round prices"}},
		{"f 2", []string{"Round prices", "ready to start"}, []string{"Write a guide"}},
		{"tab", []string{"deskhand work: shop", "Round prices"}, []string{"Fix the footer"}},
		{"enter", []string{"attempt", "fake · completed", "> go", "I am done"}, []string{"Round prices"}},
		{"d", []string{"diff --git a/x b/x", "+new �[31mline"}, []string{"I am done"}},
		{"d d", []string{"I am done"}, []string{"diff --git"}},
		{"?", []string{"leave; agents keep running"}, []string{"Round prices"}},
		{"", []string{"$1.25+ today · ", "$1.25 "}, nil},
		{"c", []string{"Today: 1200 tokens read, 30 written", "claude $1.25 in", "shelly ? in 1 run"}, nil},
		{"enter", []string{"7 tokens read"}, nil},
		{"down l", []string{"press r to start one"}, nil},
	} {
		b := boarded(someBoard(), 80, 24)
		b.types(c.keys)
		for _, want := range c.wants {
			if !strings.Contains(b.text(), want) {
				t.Errorf("%q does not show %q:\n%s", c.keys, want, b.text())
			}
		}
		for _, lack := range c.lacks {
			if strings.Contains(b.text(), lack) {
				t.Errorf("%q shows %q:\n%s", c.keys, lack, b.text())
			}
		}
	}
}

// The board says that r starts an attempt at a new task, so the cursor is on that task,
// even if a search hid it.
func TestBoardPutsTheCursorOnANewTask(t *testing.T) {
	w := someBoard()
	b := boarded(w, 80, 24)
	b.types("/ 'footer enter n 'Sweep enter r 1")
	if last := w.orders[len(w.orders)-1]; last.Act != ActStart || last.Task != "new" {
		t.Errorf("r after a new task: %+v; the screen is:\n%s", last, b.text())
	}
}

// Text that looks like a secret is shown once more before it lands.
func TestBoardAsksAgainBeforeSecretsLand(t *testing.T) {
	w := someBoard()
	held := fault.New(tasks.LandHeld, "a.env:1 looks like a key", "")
	held.Details = map[string]any{"found": []string{"a.env:1 looks like a key"}}
	w.fail = held
	b := boarded(w, 80, 24)
	b.types("l y")
	if !strings.Contains(b.text(), "- a.env:1 looks like a key") || !strings.Contains(b.text(), "Continue anyway?") {
		t.Fatalf("does not ask:\n%s", b.text())
	}
	if b.types("y"); len(w.orders) != 2 || fmt.Sprint(w.orders[1].Allowed) != "[a.env:1 looks like a key]" {
		t.Errorf("orders %v", w.orders)
	}
	w.fail = errors.New("the branch moved")
	if b.types("l y"); !strings.Contains(b.text(), "the branch moved") {
		t.Errorf("does not tell the failure:\n%s", b.text())
	}
}

// A yes allows every finding, so it counts only after all of them were on the screen.
func TestBoardShowsEverySecretBeforeAYes(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 10}, {20, 5}} {
		w := someBoard()
		var found []string
		for i := range 40 {
			found = append(found, fmt.Sprintf("a%02d.env has a key", i))
		}
		held := fault.New(tasks.LandHeld, strings.Join(found, "; "), "")
		held.Details = map[string]any{"found": found}
		w.fail = held
		b := boarded(w, size[0], size[1])
		b.types("l y")
		if b.types("y"); len(w.orders) != 1 || strings.Contains(b.text(), "y yes") {
			t.Errorf("%v: allowed what was not shown: %v\n%s", size, w.orders, b.text())
		}
		seen := b.text()
		for range 100 {
			b.types("pgdown")
			seen += b.text()
		}
		for _, what := range found {
			if !strings.Contains(seen, what[:7]) {
				t.Errorf("%v: %s was never on the screen", size, what)
			}
		}
		if b.types("y"); len(w.orders) != 2 || len(w.orders[1].Allowed) != len(found) {
			t.Errorf("%v: orders %v; the screen is:\n%s", size, w.orders, b.text())
		}
	}
}

// Whatever titles and logs hold, no row is wider than the screen, none is missing, and no
// character controls the terminal.
func TestBoardFitsTheScreen(t *testing.T) {
	hostile := "Evil \x1b[31mred\u202etxt.exe\a\r\n\t価格を四捨五入する日本語のとても長いタイトル👩‍👩‍👧‍👦" + strings.Repeat("x", 200)
	w := someBoard()
	w.log = hostile + "\n" + strings.Repeat("漢字", 300) + "\n"
	for i := range w.columns {
		for j := range w.columns[i].Cards {
			c := &w.columns[i].Cards[j]
			c.Title, c.Description, c.Project, c.Executor, c.Labels = hostile, hostile, hostile, "e\x1b]0;x\a", []string{"l\x1bx"}
		}
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 10}, {20, 5}, {200, 60}} {
		for _, keys := range []string{"", "a", "enter", "d", "l", "r", "f", "n", "n '価格", "/ 'e", "?", "s 'x"} {
			b := boarded(w, size[0], size[1])
			b.types(keys)
			b.settle(func() tea.Msg { return orderDone{result: Result{Told: hostile}} })
			rows := b.view().rows
			if len(rows) > size[1] {
				t.Errorf("%v %q: %d rows", size, keys, len(rows))
			}
			for _, row := range rows {
				if n := ansi.StringWidth(row); n > size[0] {
					t.Errorf("%v %q: a row has %d columns: %q", size, keys, n, row)
				}
				if strings.ContainsAny(ansi.Strip(row), "\x1b\a\r\t\u202e") || strings.Contains(row, "\x1b]") {
					t.Errorf("%v %q: a row controls the terminal: %q", size, keys, row)
				}
			}
		}
	}
}

// An attempt that waits for a machine is not running, and one that has ended says so.
func TestBoardTellsWaitingFromRunning(t *testing.T) {
	w := someBoard()
	queued, ended := &w.columns[0].Cards[0], &w.columns[1].Cards[0]
	queued.InProgress, queued.WaitsFor, queued.Unassigned = true, tasks.ForSlot, true
	ended.Executor, ended.InProgress = "fake", false
	b := boarded(w, 80, 24)
	for _, want := range []string{"1 queued", "waiting for a machine", "ended"} {
		if !strings.Contains(b.text(), want) {
			t.Errorf("does not show %q:\n%s", want, b.text())
		}
	}
	if strings.Contains(b.text(), "running") {
		t.Errorf("a queued attempt counts as running:\n%s", b.text())
	}
	pane := &attemptPane{known: true, status: tasks.AttemptStatus{Distances: []worktree.Distance{{Target: "main"}, {Target: "main"}, {Target: "next"}}}}
	if got := pane.into(); got != " into main, next" {
		t.Errorf("it lands%s", got)
	}
	if got := stateOf(tasks.AttemptStatus{Waiting: true, Unassigned: true}); got != "waiting for a machine" {
		t.Errorf("its pane says %q", got)
	}
}

// What another task's pane asked for changes nothing in the pane that is open now: a key
// would give an order about an attempt that is not on the screen.
func TestLateMessagesOfAnotherPaneAreIgnored(t *testing.T) {
	w := someBoard()
	w.columns[1].Cards = append(w.columns[1].Cards, carded("t5", "Other work", tasks.InReview, "p1"))
	b := boarded(w, 80, 24)
	first, second := w.columns[1].Cards[0], w.columns[1].Cards[1]
	opened, _ := b.show(first)().(tea.BatchMsg) // not carried out yet
	diff := b.open.readDiff(b)
	reload := b.open.reload(b)
	b.leave()
	b.settle(b.show(second))
	b.types("d")
	b.open.diff, b.open.following = scroller{}, true
	for _, late := range append(opened, diff, reload) {
		b.Update(late())
	}
	if got := b.open.id(); got != "attempt-t5" || len(b.open.diff.lines) != 0 || !b.open.following {
		t.Errorf("a late message changed the pane: attempt %s, following %t, changes %q", got, b.open.following, b.open.diff.lines)
	}
	if b.types("x y"); fmt.Sprint(w.orders) != "[{discard p1 t5 attempt-t5   []}]" {
		t.Errorf("orders %v", w.orders)
	}
}

// The state shows as soon as it is read, not only after the log's end.
func TestPaneShowsItsFirstState(t *testing.T) {
	b := boarded(someBoard(), 80, 24)
	opened, _ := b.show(*b.card())().(tea.BatchMsg)
	for _, one := range opened {
		if msg, ok := one().(paneLoaded); ok {
			b.Update(msg)
		}
	}
	if !b.open.known {
		t.Errorf("the state was dropped:\n%s", b.text())
	}
}

// A question that comes late neither takes the text that a person is writing nor the y
// that is meant for something else.
func TestLateQuestionsKeepTheOpenPrompt(t *testing.T) {
	held := fault.New(tasks.LandHeld, "a.env:1 looks like a key", "")
	held.Details = map[string]any{"found": []string{"a.env:1"}}
	land := Order{Act: ActLand, Task: "t3", Attempt: "attempt-t3"}
	for _, late := range []tea.Msg{orderDone{order: land, err: held}, agentsFound{task: "t3", agents: []string{"claude"}}} {
		w := someBoard()
		b := boarded(w, 80, 24)
		b.types("s 'half")
		b.settle(func() tea.Msg { return late })
		if text := b.text(); !strings.Contains(text, "another prompt is open") || !strings.Contains(text, "> half") {
			t.Errorf("%T: \n%s", late, text)
		}
		if b.types("'way enter"); fmt.Sprint(w.orders) != "[{say p1 t3 attempt-t3  halfway []}]" {
			t.Errorf("%T: orders %v", late, w.orders)
		}
	}
}

// The board keeps showing the same project when the projects change elsewhere.
func TestBoardKeepsItsProject(t *testing.T) {
	b := boarded(someBoard(), 80, 24)
	b.types("tab tab")
	all := b.projects
	for _, c := range []struct {
		projects []tasks.Project
		want     string
	}{
		{append([]tasks.Project{{ID: "p0", Name: "new"}}, all...), "deskhand work: site"},
		{all[1:], "deskhand work: site"},
		{all[:1], "deskhand work "},
	} {
		b.settle(func() tea.Msg { return boardLoaded{projects: c.projects, columns: b.columns} })
		if !strings.Contains(b.text(), c.want) {
			t.Errorf("with %v, does not show %q:\n%s", c.projects, c.want, b.text())
		}
	}
}
