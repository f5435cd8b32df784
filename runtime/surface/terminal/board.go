package terminal

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// Act is something that a person does with a task or an attempt.
type Act string

// Acts of the board.
const (
	ActLand    Act = "land"
	ActPull    Act = "pr"
	ActDiscard Act = "discard"
	ActUndo    Act = "undo"
	ActSay     Act = "say"
	ActStop    Act = "stop"
	ActStart   Act = "start"
	ActNew     Act = "new"
)

// Order is an act with its object.
type Order struct {
	Act                    Act
	Project, Task, Attempt string   // IDs; empty if the act needs none
	Agent                  string   // for [ActStart]
	Text                   string   // for [ActSay] and [ActNew]
	Allowed                []string // text that looks like a secret, which the person has seen and allowed
}

// Result is the result of an order.
type Result struct {
	Told string // what to tell the person
	Task string // ID of the added task, for [ActNew]
}

// Work is what the board shows and does. Its methods may be called concurrently.
type Work interface {
	// Board returns the projects, and the tasks of all of them by status.
	Board(ctx context.Context) ([]tasks.Project, []tasks.CardColumn, error)
	// Costs returns what the agents have consumed.
	Costs(ctx context.Context) (Costs, error)
	// Attempts returns a task's attempts, newest first.
	Attempts(ctx context.Context, task string) ([]tasks.AttemptSummary, error)
	Status(ctx context.Context, attempt string) (tasks.AttemptStatus, error)
	// Agents returns the agents that can be started, the best one first.
	Agents(ctx context.Context) ([]string, error)
	// Undoable returns the reason why an attempt's landing cannot be undone, or nil.
	Undoable(ctx context.Context, attempt string) error
	Do(ctx context.Context, o Order) (Result, error)
	// Follow writes an attempt's log until no process runs.
	Follow(ctx context.Context, attempt string, to io.Writer) error
	// Diff writes an attempt's changes.
	Diff(ctx context.Context, attempt string, to io.Writer) error
	// Watch calls changed after every change, until ctx ends.
	Watch(ctx context.Context, changed func()) error
	// Inbox shows the open questions until the person leaves them.
	Inbox(ctx context.Context, d *Device) error
}

// Costs is what agents have consumed: each task by its ID, and today's runs by agent and
// in all.
type Costs struct {
	Tasks map[string]tasks.Usage
	Today []tasks.UsageGroup
	Total tasks.Usage
}

// board is a full-screen program. It shows all tasks, or one attempt.
type board struct {
	ctx           context.Context
	work          Work
	device        *Device
	send          func(tea.Msg)
	width, height int
	now           time.Time

	projects []tasks.Project
	costs    Costs
	columns  []tasks.CardColumn
	shown    []tasks.Card // in the order of the screen
	project  string       // ID of the shown project; empty: all
	sieve    tasks.Sieve
	closed   bool // done and cancelled tasks are shown, too
	cursor   int
	added    string // ID of a task that gets the cursor when it is shown; empty: none
	loaded   bool
	loading  bool
	dirty    bool // something changed while loading

	open       *attemptPane // nil while the list is shown
	generation int          // counts what panes showed and followed
	ask        *prompt      // nil if nothing is asked
	help       bool
	busy       string // what is being done
	note       string
}

// Messages to the board.
type (
	boardChanged struct{}
	boardLoaded  struct {
		projects []tasks.Project
		columns  []tasks.CardColumn
		costs    *Costs // nil: unknown
		err      error
	}
	orderDone struct {
		order  Order
		result Result
		err    error
	}
	agentsFound struct {
		task   string
		agents []string
		err    error
	}
	undoChecked struct {
		order Order
		err   error
	}
	inboxLeft struct{ err error }
)

// WorkBoard shows the tasks of all projects, and updates them, until the person leaves or
// ctx ends. Attempts keep running.
func WorkBoard(ctx context.Context, d *Device, w Work) error {
	inner, stop := context.WithCancel(ctx)
	b := &board{ctx: inner, work: w, device: d, now: time.Now()}
	program := tea.NewProgram(b, tea.WithInput(d.In), tea.WithOutput(d.Out), tea.WithoutSignalHandler())
	b.send = program.Send
	var running sync.WaitGroup
	running.Go(func() { // errors end the live updates; the tick still reloads
		_ = w.Watch(inner, func() { program.Send(boardChanged{}) })
	})
	running.Go(func() {
		<-inner.Done()
		program.Send(closing{})
	})
	_, err := program.Run()
	stop()
	running.Wait()
	if ctx.Err() != nil {
		return nil // leaving is not an error
	}
	return err
}

// Init implements [tea.Model].
func (b *board) Init() tea.Cmd { return tea.Batch(b.load(), everySecond()) }

// load reads the tasks. If they are already being read, it reads them again afterwards.
func (b *board) load() tea.Cmd {
	if b.loading {
		b.dirty = true
		return nil
	}
	b.loading, b.dirty = true, false
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		projects, columns, err := b.work.Board(ctx)
		msg := boardLoaded{projects: projects, columns: columns, err: err}
		if costs, err := b.work.Costs(ctx); err == nil { // without it, the board is still of use
			msg.costs = &costs
		}
		return msg
	}
}

// Update implements [tea.Model].
func (b *board) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		b.width, b.height = msg.Width, msg.Height
		if b.width == 0 || b.height == 0 { // the terminal has not reported its size
			b.width, b.height = 80, 24
		}
		if b.ask != nil {
			b.ask.scroll = 0
		}
	case tick:
		b.now = time.Time(msg)
		if b.now.Second()%reloadSeconds == 0 {
			return b, tea.Batch(everySecond(), b.load())
		}
		return b, everySecond()
	case closing:
		return b, tea.Quit
	case boardChanged:
		return b, tea.Batch(b.load(), b.open.reload(b))
	case boardLoaded:
		return b, b.took(msg)
	case orderDone:
		return b, b.done(msg)
	case agentsFound:
		b.pickAgent(msg)
	case undoChecked:
		if b.note = ""; msg.err != nil {
			b.note = reason(msg.err)
		} else {
			b.confirm("Undo the landing of attempt "+tasks.ShortID(msg.order.Attempt)+"?", msg.order)
		}
	case inboxLeft:
		if b.note = ""; msg.err != nil {
			b.note = reason(msg.err)
		}
		return b, b.load()
	case tea.PasteMsg:
		if b.ask != nil && b.ask.items == nil && !b.ask.yesNo {
			b.ask.editor.insert(msg.Content)
			b.typed()
		}
	case tea.KeyPressMsg:
		return b, b.press(keyOf(msg))
	default:
		return b, b.open.update(b, msg)
	}
	return b, nil
}

// reloadSeconds is how often the board is read even without news, in seconds.
const reloadSeconds = 10

// took shows the tasks that were read.
func (b *board) took(msg boardLoaded) tea.Cmd {
	b.loading = false
	if msg.err != nil {
		b.note = reason(msg.err)
	} else {
		b.projects, b.columns, b.loaded = msg.projects, msg.columns, true
		if msg.costs != nil {
			b.costs = *msg.costs
		}
		if b.shownProject() == nil {
			b.project = "" // it was removed
		}
		b.sift()
	}
	if b.dirty {
		return b.load()
	}
	return nil
}

// boardOrder is the order of the statuses on the screen: first what may need a person.
var boardOrder = []tasks.Status{tasks.InReview, tasks.InProgress, tasks.Todo, tasks.Done, tasks.Cancelled}

// sift selects the tasks to show. It keeps the cursor on the same task, or puts it on the
// one that was added.
func (b *board) sift() {
	here := b.added
	if c := b.card(); c != nil && here == "" {
		here = c.ID
	}
	b.shown = nil
	for _, status := range boardOrder {
		if (status == tasks.Done || status == tasks.Cancelled) && !b.closed && !b.sieve.On() {
			continue
		}
		var some []tasks.Card
		for _, column := range b.columns {
			for i := range column.Cards {
				c := &column.Cards[i]
				if column.Status == status && b.inProject(c) && b.sieve.Match(c) {
					some = append(some, *c)
				}
			}
		}
		tasks.SortCards(some, tasks.ByPriority)
		b.shown = append(b.shown, some...)
	}
	b.cursor = min(b.cursor, max(len(b.shown)-1, 0))
	for i := range b.shown {
		if b.shown[i].ID == here {
			b.cursor, b.added = i, ""
		}
	}
}

func (b *board) inProject(c *tasks.Card) bool { return b.project == "" || b.project == c.ProjectID }

// shownProject returns the project whose tasks are shown, or nil if all are.
func (b *board) shownProject() *tasks.Project {
	for i := range b.projects {
		if b.projects[i].ID == b.project {
			return &b.projects[i]
		}
	}
	return nil
}

// nextProject shows the next project, or all after the last one.
func (b *board) nextProject() {
	ids := []string{""}
	for i := range b.projects {
		ids = append(ids, b.projects[i].ID)
	}
	b.project = ids[(slices.Index(ids, b.project)+1)%len(ids)]
	b.sift()
}

// card returns the task under the cursor, or nil.
func (b *board) card() *tasks.Card {
	if b.cursor >= len(b.shown) {
		return nil
	}
	return &b.shown[b.cursor]
}

// order carries out an order.
func (b *board) order(o Order) tea.Cmd {
	b.busy, b.note = doing[o.Act], ""
	return func() tea.Msg {
		result, err := b.work.Do(b.ctx, o)
		return orderDone{o, result, err}
	}
}

// doing are the acts in the words of the foot line.
var doing = map[Act]string{
	ActLand: "landing …", ActPull: "opening the pull request …", ActDiscard: "discarding …", ActUndo: "undoing …",
	ActSay: "sending …", ActStop: "stopping …", ActStart: "starting …", ActNew: "adding the task …",
}

// done shows the result of an order. If the work holds text that looks like a secret, it
// asks whether to go on.
func (b *board) done(msg orderDone) tea.Cmd {
	b.busy, b.note = "", line(strings.TrimSpace(msg.result.Told))
	if f := fault.Of(msg.err); f != nil && f.Code == tasks.LandHeld && len(msg.order.Allowed) == 0 {
		if found, _ := f.Details["found"].([]string); len(found) > 0 {
			again := msg.order
			again.Allowed = found
			if b.confirm("The work contains text that looks like secrets:", again) {
				b.ask.found = found
			}
			return nil
		}
	}
	if msg.err != nil {
		b.note = reason(msg.err)
		return b.load()
	}
	switch msg.order.Act {
	case ActDiscard:
		b.leave()
	case ActNew: // a search or a filter may hide it
		b.sieve, b.added = tasks.Sieve{}, msg.result.Task
	}
	return tea.Batch(b.load(), b.open.reload(b))
}

// reason returns an error's text with its hint, on one line.
func reason(err error) string {
	text := err.Error()
	if f := fault.Of(err); f != nil && f.Hint != "" {
		text = f.Message + "; " + f.Hint
	}
	return flat(text)
}

// leave returns to the list.
func (b *board) leave() {
	if b.open != nil {
		b.open.close()
		b.open = nil
	}
}

// inbox shows the open questions, and afterwards the board again. The board
// stays a program, because its landings and logs go on. It would stay frozen if
// its render loop had not ended by then (issue 1778 of Bubble Tea), but that has
// the time in which a person reads the questions.
func (b *board) inbox() tea.Cmd {
	return tea.Exec(&inboxProgram{b}, func(err error) tea.Msg { return inboxLeft{err} })
}

// inboxProgram is the inbox as a program that runs in place of the board.
type inboxProgram struct{ b *board }

func (p *inboxProgram) Run() error          { return p.b.work.Inbox(p.b.ctx, p.b.device) }
func (p *inboxProgram) SetStdin(io.Reader)  {}
func (p *inboxProgram) SetStdout(io.Writer) {}
func (p *inboxProgram) SetStderr(io.Writer) {}

// View implements [tea.Model].
func (b *board) View() tea.View {
	var v tea.View
	v.AltScreen, v.WindowTitle = true, "deskhand work"
	if b.width == 0 {
		return v
	}
	s := b.view()
	v.SetContent(strings.Join(s.rows, "\n"))
	if s.row >= 0 {
		v.Cursor = tea.NewCursor(s.column, s.row)
	}
	return v
}
