package board

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// columnTasks is the maximum number of tasks in a column.
const columnTasks = 100

// siftedTasks is how many tasks of a status a filter looks at, and the maximum number of
// tasks in a column that is shown alone.
const siftedTasks = 500

// boardView is the data of the board.
type boardView struct {
	Projects []choice
	Project  string // ID of the shown project; empty if there is none
	Name     string
	All      bool   // all projects are shown
	New      bool   // the form for a new task is open
	Open     bool   // tasks that are done or cancelled are hidden
	Column   string // status of the only column; empty if all are shown
	// Templates are texts that a new task can begin with; Begin is the chosen one.
	Templates []tasks.Template
	Begin     tasks.Template
	Columns   []column
	Filled    filled          // a form that was refused
	Statuses  []choice        // of a new task, and for the selected tasks
	Picked    map[string]bool // IDs of the selected tasks
	address   url.Values      // of this board

	Order                              tasks.CardOrder
	Orders                             []choice
	Sieve                              tasks.Sieve
	States, Agents, Labels, Priorities []choice // the filter's menus
	ReadyCount                         int
}

// Tone returns the CSS class of a card's state.
func (boardView) Tone(state string) string {
	return map[string]string{"waiting for you": "warn asks", "running": "good runs", "failed": "alarm fails", "off its branch": "warn", "landed": "good lands"}[state]
}

// choice is an item in a menu.
type choice struct {
	Value, Name string
	Here        bool
}

// column holds the tasks with one status.
type column struct {
	Status string
	Name   string
	Tasks  []card
	Total  int // number of tasks with the status, whether they are shown or not
	// Looked is the number of tasks that the board has read, the newest ones. If there are
	// more, Rest is the address that shows more of them, or empty if there is none.
	Looked int
	Rest   string

	cards []tasks.Card // before the filter
	next  string       // cursor of older tasks; empty if there are none
}

// Older is the number of tasks that were not read because they are older.
func (c column) Older() int {
	if c.next == "" {
		return 0
	}
	return max(0, c.Total-c.Looked)
}

// card is a task on the board.
type card struct {
	*tasks.Card
	Question string // what it asks a person; empty if it asks nothing
}

// Live reports whether one of the task's processes is running or queued.
func (c card) Live() bool { return c.InProgress }

// When is when the task last changed.
func (c card) When() moment { return moment{c.Updated} }

// Tally is what the newest attempt has changed, or nil if it is unknown.
func (c card) Tally() *tally {
	if c.Changed == nil || *c.Changed == (tasks.Totals{}) {
		return nil
	}
	return &tally{Files: c.Changed.Files, Added: c.Changed.Added, Deleted: c.Changed.Deleted}
}

// Short returns the end of the task's ID, which commands accept.
func (c card) Short() string { return tasks.ShortID(c.ID) }

// statusNames maps statuses to their names for people.
var statusNames = map[tasks.Status]string{
	tasks.Todo: "To do", tasks.InProgress: "In progress", tasks.InReview: "In review", tasks.Done: "Done", tasks.Cancelled: "Cancelled",
}

func (b *Board) index(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	return b.showBoard(w, r, m, filled{})
}

func (b *Board) showBoard(w http.ResponseWriter, r *http.Request, m *tasks.Manager, f filled) error {
	v, err := b.boardOf(m, r)
	if err != nil {
		return err
	}
	if err := b.questions(r.Context(), v.Columns); err != nil {
		return err
	}
	v.Filled, v.New = f, r.FormValue("new") != ""
	if v.Filled.Bulk() {
		v.Picked = pickedBy(f.fields)
	}
	for _, s := range tasks.Statuses {
		v.Statuses = append(v.Statuses, choice{string(s), statusNames[s], string(s) == r.FormValue("status")})
	}
	if err := v.begin(r, m); err != nil {
		return err
	}
	title := "Work"
	if v.Name != "" {
		title = page.Line(v.Name) + ": work"
	}
	b.write(w, r, f.status(), b.board, title, v)
	return nil
}

// begin reads the project's templates, and chooses the one that the address names.
func (v *boardView) begin(r *http.Request, m *tasks.Manager) (err error) {
	if v.Project == "" {
		return nil
	}
	v.Templates, err = m.Templates(r.Context(), v.Project)
	for _, t := range v.Templates {
		if t.Title == r.FormValue("template") {
			v.Begin = t
		}
	}
	return err
}

// allProjects is the ID that selects all projects.
const allProjects = "all"

func (b *Board) boardOf(m *tasks.Manager, r *http.Request) (v boardView, err error) {
	ctx, project := r.Context(), r.FormValue("project")
	all, err := m.Projects(ctx, tasks.Page{Limit: 500})
	if err != nil {
		return v, err
	}
	v.All, v.Sieve, v.Order = project == allProjects, sieveOf(r), tasks.CardOrder(r.FormValue("order"))
	v.Open, v.Column, v.address = r.FormValue("open") != "", r.FormValue("column"), addressOf(r.Form)
	var shown []tasks.Project
	for i, p := range all.Projects {
		here := p.ID == project || project == "" && i == 0
		if here {
			v.Project, v.Name = p.ID, p.Name
		}
		if here || v.All {
			shown = append(shown, p)
		}
		v.Projects = append(v.Projects, choice{p.ID, p.Name, here})
	}
	if len(shown) == 0 && project != "" && !v.All {
		_, err = m.Repos(ctx, project) // returns the error that there is no such project
		return v, err
	}
	for _, s := range tasks.Statuses {
		if ended := s == tasks.Done || s == tasks.Cancelled; v.Column == string(s) || v.Column == "" && !(v.Open && ended) {
			v.Columns = append(v.Columns, column{Status: string(s), Name: statusNames[s]})
		}
	}
	for _, p := range shown {
		if err := v.addProject(ctx, m, p, r.FormValue("before")); err != nil {
			return v, err
		}
	}
	v.sift()
	return v, nil
}

// questions adds what cards ask a person.
func (b *Board) questions(ctx context.Context, columns []column) error {
	var waiting []*card
	for _, c := range columns {
		for i := range c.Tasks {
			if c.Tasks[i].WaitsFor == tasks.ForPerson {
				waiting = append(waiting, &c.Tasks[i])
			}
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	asked, err := b.options.Asked(ctx)
	for _, c := range waiting {
		c.Question = asked[c.AttemptID]
	}
	return err
}

// addProject adds a project's tasks to the columns. before is the cursor of older ones, if
// only one column of one project is shown.
func (v *boardView) addProject(ctx context.Context, m *tasks.Manager, p tasks.Project, before string) error {
	q := tasks.CardQuery{Limit: columnTasks, Status: tasks.Status(v.Column)}
	if v.Sieve.On() || v.Column != "" {
		q.Limit = siftedTasks
	}
	if v.Column != "" && !v.All {
		q.Cursor = before
	}
	found, err := m.Cards(ctx, p, q)
	for _, one := range found {
		i := slices.IndexFunc(v.Columns, func(c column) bool { return c.Status == string(one.Status) })
		if i < 0 {
			continue // it is hidden
		}
		c := &v.Columns[i]
		c.Total, c.Looked, c.cards = c.Total+one.Total, c.Looked+len(one.Cards), append(c.cards, one.Cards...)
		if one.Next == "" {
			continue
		}
		if c.next = one.Next; v.Column == "" {
			c.Rest = v.At("column", c.Status)
		} else if !v.All {
			c.Rest = v.At("before", c.next)
		}
	}
	return err
}

// sift fills the filter's menus, and removes the tasks that it does not select.
func (v *boardView) sift() {
	var agents, labels []string
	for i := range v.Columns {
		c := &v.Columns[i]
		tasks.SortCards(c.cards, v.Order)
		for j := range c.cards {
			one := &c.cards[j]
			agents, labels = append(agents, one.Executor), append(labels, one.Labels...)
			if one.Ready() {
				v.ReadyCount++
			}
			if v.Sieve.Match(one) {
				c.Tasks = append(c.Tasks, card{Card: one})
			}
		}
	}
	v.Agents, v.Labels = menu(agents, v.Sieve.Agent), menu(labels, v.Sieve.Label)
	for _, s := range tasks.CardStates {
		v.States = append(v.States, choice{s, s, s == v.Sieve.State})
	}
	for _, p := range tasks.Priorities {
		value := cmp.Or(string(p), "normal")
		v.Priorities = append(v.Priorities, choice{value, strings.ToLower(priorityNames[p]), value == v.Sieve.Priority})
	}
	for _, o := range tasks.CardOrders {
		v.Orders = append(v.Orders, choice{string(o), orderNames[o], o == v.Order})
	}
}

// orderNames maps orders to their names for people.
var orderNames = map[tasks.CardOrder]string{tasks.ByPriority: "by priority", tasks.ByChange: "last changed first", tasks.ByAge: "oldest first", tasks.ByTitle: "by title"}

// create creates the task from the form, or a template, or changes the selected tasks.
func (b *Board) create(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	if r.PostFormValue("act") == "template" {
		project := r.PostFormValue("project")
		err := m.PutTemplate(r.Context(), project, tasks.Template{Title: strings.TrimSpace(r.PostFormValue("title")), Description: typed(r, "description")})
		if f := fault.Of(err); f != nil {
			return b.showBoard(w, r, m, filledBy(r, f))
		}
		if err != nil {
			return err
		}
		return back(w, r, boardPath(project)+"&new=1")
	}
	if isBulk(r.PostFormValue("act")) {
		return b.changePicked(w, r, m)
	}
	t, err := m.CreateTask(r.Context(), tasks.NewTask{
		Status:    tasks.Status(r.PostFormValue("status")),
		ProjectID: r.PostFormValue("project"), Title: strings.TrimSpace(r.PostFormValue("title")), Description: typed(r, "description"),
		RequestID: page.Once(r),
	})
	if f := fault.Of(err); f != nil {
		return b.showBoard(w, r, m, filledBy(r, f))
	}
	if err != nil {
		return err
	}
	return back(w, r, taskPath(t.ID))
}

// typed returns the value of a form field, trimmed and with "\n" as line ends.
func typed(r *http.Request, field string) string {
	return strings.TrimSpace(strings.ReplaceAll(r.PostFormValue(field), "\r\n", "\n"))
}

func taskPath(id string) string { return Path + "/tasks/" + url.PathEscape(id) }

// AttemptPath returns the path of an attempt's page.
func AttemptPath(id string) string { return Path + "/attempts/" + url.PathEscape(id) }
