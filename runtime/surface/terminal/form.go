package terminal

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// form is a full-screen program. It shows one request, or the list of all
// requests and the open request.
type form struct {
	hub           *hubClient
	model         *formModel // nil while the list is shown
	list          *list      // nil if there is only one request
	width, height int
	now           time.Time
	left          how
	outside       *outside // what the person is about to edit, if left is editing
	reads         bool     // Init reads what the form missed while it was not shown
}

// Messages to the program other than keys.
type (
	changed struct{ request elicit.Request }
	tick    time.Time
	closing struct{}
)

// formOf shows one request. It returns when the request has ended, the person
// leaves, or ctx ends.
func formOf(ctx context.Context, d *Device, h *elicit.Hub, r elicit.Request) (how, error) {
	client := newHubClient(h)
	seq, r, err := current(ctx, h, r.ID)
	if err != nil {
		return closed, err
	}
	if err := client.present(r.ID); err != nil && !errors.As(err, new(*elicit.Rejection)) {
		return closed, err
	}
	return (&form{hub: client, model: newFormModel(r, false)}).run(ctx, d, seq, r.ID)
}

// current returns a request and the feed position from which to follow it.
func current(ctx context.Context, h *elicit.Hub, id string) (int64, elicit.Request, error) {
	list, err := h.List(ctx, elicit.Filter{Limit: 1})
	if err != nil {
		return 0, elicit.Request{}, err
	}
	r, err := h.Get(ctx, id)
	return list.Seq, r, err
}

// run shows the form. Before it returns, it saves the text that was typed.
func (f *form) run(ctx context.Context, d *Device, seq int64, id string) (how, error) {
	f.now = time.Now()
	var program atomic.Pointer[tea.Program]
	start := func() {
		program.Store(tea.NewProgram(f, tea.WithInput(d.In), tea.WithOutput(d.Out), tea.WithoutSignalHandler()))
	}
	start()
	open, shut := context.WithCancel(ctx)
	behind, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { f.hub.run(behind) })
	running.Go(func() {
		err := f.hub.follow(behind, seq, id, func(r elicit.Request) { program.Load().Send(changed{r}) })
		if err != nil && behind.Err() == nil {
			shut() // the store cannot be read; the waiting call reports the error
		}
	})
	running.Go(func() {
		select {
		case <-open.Done():
			program.Load().Send(closing{})
		case <-behind.Done():
		}
	})
	_, err := program.Load().Run()
	// A program of Bubble Tea that is interrupted by another can stay frozen
	// (its issue 1778), so it ends before the editor starts, and another begins
	// after it. What the first one did not take is read once more.
	for err == nil && f.left == editing {
		f.outside.cmd.Stdin, f.outside.cmd.Stdout, f.outside.cmd.Stderr = d.In, d.Out, d.Out
		text, failed := f.outside.text(f.outside.cmd.Run())
		start()
		f.left = closed
		if open.Err() != nil {
			break
		}
		f.written(text, failed)
		f.reads = true
		_, err = program.Load().Run()
	}
	stop()
	running.Wait()
	shut()
	return f.left, err
}

// Init implements [tea.Model].
func (f *form) Init() tea.Cmd {
	if !f.reads || f.model == nil {
		return everySecond()
	}
	id := f.model.request.ID
	return tea.Batch(everySecond(), func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r, err := f.hub.read(ctx, id)
		if err != nil {
			return nil // the next change tells
		}
		return changed{r}
	})
}

func everySecond() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) })
}

// Update implements [tea.Model].
func (f *form) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		f.width, f.height = msg.Width, msg.Height
		if f.width == 0 || f.height == 0 { // the terminal has not reported its size
			f.width, f.height = 80, 24
		}
	case tick:
		f.now = time.Time(msg)
		return f, everySecond()
	case closing:
		return f.quit(closed)
	case changed:
		return f.changed(msg.request)
	case listed:
		if msg.err != nil {
			f.list.note = line(msg.err.Error())
			break
		}
		f.list.take(msg.found)
	case tea.PasteMsg:
		if f.model != nil && (f.model.writing || f.model.saying || f.model.panel != noPanel) {
			return f.press(key{"paste", msg.Content})
		}
	case tea.KeyPressMsg:
		return f.press(keyOf(msg))
	}
	return f, nil
}

// keyOf returns a key by its name. A letter has the same name with and without
// Shift.
func keyOf(msg tea.KeyPressMsg) key {
	k := key{strings.ToLower(msg.String()), msg.Key().Text}
	if k.name == " " {
		k.name = "space"
	}
	return k
}

func (f *form) quit(left how) (tea.Model, tea.Cmd) {
	f.left = left
	return f, tea.Quit
}

func (f *form) press(k key) (tea.Model, tea.Cmd) {
	if f.model == nil {
		return f.pressList(k)
	}
	return f.perform(f.model.press(k))
}

// changed handles a request's new state.
func (f *form) changed(r elicit.Request) (tea.Model, tea.Cmd) {
	if f.model != nil && f.model.request.ID == r.ID && !f.hub.stale(r) {
		if r.Status == "" || r.Status == elicit.Completed || r.Status != f.model.request.Status && f.list == nil {
			return f.over(r)
		}
		f.model.update(r, f.hub.changing(r.ID))
		f.look()
	}
	if f.list != nil {
		return f, f.reload
	}
	return f, nil
}

// over leaves a request that has ended.
func (f *form) over(r elicit.Request) (tea.Model, tea.Cmd) {
	if f.list == nil {
		return f.quit(ended)
	}
	f.model = nil
	f.list.note = Ended(&r) + ": " + heading(&r)
	if r.Status == "" {
		f.list.note = "the question was removed"
	}
	return f, f.reload
}

// perform carries out the person's intent.
func (f *form) perform(want intent) (tea.Model, tea.Cmd) {
	s := f.model
	switch want {
	case interrupt:
		return f.quit(interrupted)
	case later:
		if f.list != nil {
			f.model = nil
			return f, f.reload
		}
		return f.quit(putOff)
	case save:
		f.save()
	case submit:
		return f.submit()
	case send:
		return f.send()
	case decline:
		return f.complete(elicit.Decline, nil)
	case dismiss:
		return f.complete(elicit.Cancel, nil)
	case longer:
		f.extend()
	case external:
		return f.editOutside()
	case takeIt:
		f.claim()
		return f, nil
	case handIt:
		f.hand()
		return f, nil
	case alwaysIt:
		r, err := f.hub.always(s.request.ID, s.field.text(), lastsChoices[s.lasts].value, s.said.text())
		if err != nil {
			return f.refused(err)
		}
		return f.over(r)
	}
	if err := f.hub.trouble(); err != nil {
		s.note = "not saved: " + line(err.Error())
	}
	return f, nil
}

func (f *form) save() {
	q := f.model.question()
	if a, ok := f.model.answers[q.ID]; ok {
		f.hub.save(f.model.request.ID, q.ID, &a)
	} else {
		f.hub.save(f.model.request.ID, q.ID, nil)
	}
}

// submit submits the page's answer and goes to the next page. If there is only
// one question, it sends the answer.
func (f *form) submit() (tea.Model, tea.Cmd) {
	s := f.model
	if problem := s.unfinished(); problem != "" {
		s.note = problem
		return f, nil
	}
	if len(s.request.Questions) == 1 {
		return f.send()
	}
	q := s.question()
	if answers, _ := s.final(); answers[q.ID].Value != nil {
		r, err := f.hub.submit(s.request.ID, q.ID, answers[q.ID])
		if err != nil {
			return f.refused(err)
		}
		s.update(r, f.hub.changing(r.ID))
	}
	s.open(s.page + 1)
	return f, nil
}

func (f *form) send() (tea.Model, tea.Cmd) {
	answers, missing := f.model.final()
	if missing >= 0 {
		f.model.open(missing)
		f.model.note = "an answer is required"
		return f, nil
	}
	return f.complete(elicit.Accept, answers)
}

func (f *form) complete(outcome elicit.Outcome, answers map[string]elicit.Answer) (tea.Model, tea.Cmd) {
	r, err := f.hub.complete(f.model.request.ID, outcome, answers, f.model.said.text())
	if err != nil {
		return f.refused(err)
	}
	return f.over(r)
}

// refused shows why the hub refused an action. It shows the reason on the page
// of the question.
func (f *form) refused(err error) (tea.Model, tea.Cmd) {
	s := f.model
	var rejection *elicit.Rejection
	if errors.As(err, &rejection) {
		if rejection.Winner != nil {
			r := s.request
			r.Status, r.Completion = elicit.Completed, rejection.Winner
			return f.over(r)
		}
		for i, q := range s.request.Questions {
			if len(rejection.Problems) > 0 && rejection.Problems[0].QuestionID == q.ID && i != s.page {
				s.open(i)
			}
		}
	}
	s.note = problemText(err)
	return f, nil
}

// problemText returns the text of an error without the question's name, which
// is on the screen anyway.
func problemText(err error) string {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, `question "`); ok {
		if _, after, found := strings.Cut(rest, `": `); found {
			text = after
		}
	}
	return line(text)
}

func (f *form) extend() {
	s := f.model
	if s.request.Deadline.IsZero() {
		s.note = "there is no deadline"
		return
	}
	r, err := f.hub.extend(s.request)
	if err != nil {
		s.note = line(err.Error())
		return
	}
	s.update(r, f.hub.changing(r.ID))
	s.note = "open until " + r.Deadline.Local().Format(time.TimeOnly)
}

// editOutside leaves the program for the person's editor.
func (f *form) editOutside() (tea.Model, tea.Cmd) {
	o, err := editOutside(f.model.editor.text())
	if err != nil {
		f.model.note = line(err.Error())
		return f, nil
	}
	f.outside = o
	return f.quit(editing)
}

// written shows what the person wrote in the editor.
func (f *form) written(text string, failed error) {
	s := f.model
	if failed != nil {
		s.note = line(failed.Error())
		return
	}
	s.editor = editor{}
	s.editor.insert(text)
	s.wrote(s.question(), s.editor.text())
	f.save()
}

// View implements [tea.Model].
func (f *form) View() tea.View {
	var v tea.View
	v.AltScreen = true
	if f.width == 0 {
		return v
	}
	var s screen
	if f.model != nil {
		s = f.model.view(f.width, f.height, f.now)
		v.WindowTitle = "deskhand: " + heading(&f.model.request)
	} else {
		s = f.list.view(f.width, f.height, f.now)
		v.WindowTitle = f.list.title()
	}
	v.SetContent(strings.Join(s.rows, "\n"))
	if s.row >= 0 {
		v.Cursor = tea.NewCursor(s.column, s.row)
	}
	return v
}
