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

// columnTasks is the maximum number of tasks in a column. The command line lists
// all tasks.
const columnTasks = 100

// siftedTasks is how many tasks of a status a filter looks at.
const siftedTasks = 500

// boardView is the data of the board.
type boardView struct {
	Projects []choice
	Project  string // ID of the shown project; empty if there is none
	Name     string
	All      bool // all projects are shown
	New      bool // the form for a new task is open
	Open     bool // tasks that are done or cancelled are hidden
	// Templates are texts that a new task can begin with; Begin is the chosen one.
	Templates []tasks.Template
	Begin     tasks.Template
	Columns   []column
	Filled    filled // a form that was refused

	Sieve                              tasks.Sieve
	States, Agents, Labels, Priorities []choice // the filter's menus
	ReadyCount                         int
}

// Tone returns the CSS class of a card's state.
func (boardView) Tone(state string) string {
	return map[string]string{"waiting for you": "warn", "running": "good", "failed": "alarm", "off its branch": "warn", "landed": "good"}[state]
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
	More   bool // whether there are older tasks

	cards []tasks.Card // before the filter
}

// card is a task on the board.
type card struct {
	*tasks.Card
	Question string // what it asks a person; empty if it asks nothing
}

// Live reports whether one of the task's processes is running or queued.
func (c card) Live() bool { return c.InProgress }

// Changed is when the task last changed.
func (c card) Changed() moment { return moment{c.Updated} }

// statusNames maps statuses to their names for people.
var statusNames = map[tasks.Status]string{
	tasks.Todo: "To do", tasks.InProgress: "In progress", tasks.InReview: "In review", tasks.Done: "Done", tasks.Cancelled: "Cancelled",
}

func (b *Board) index(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	return b.showBoard(w, r, m, filled{})
}

func (b *Board) showBoard(w http.ResponseWriter, r *http.Request, m *tasks.Manager, f filled) error {
	v, err := b.boardOf(r.Context(), m, r.FormValue("project"), sieveOf(r))
	if err != nil {
		return err
	}
	if v.Open = r.FormValue("open") != ""; v.Open {
		v.Columns = slices.DeleteFunc(v.Columns, func(c column) bool {
			return c.Status == string(tasks.Done) || c.Status == string(tasks.Cancelled)
		})
	}
	if err := b.questions(r.Context(), v.Columns); err != nil {
		return err
	}
	v.Filled, v.New = f, r.FormValue("new") != ""
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

func (b *Board) boardOf(ctx context.Context, m *tasks.Manager, project string, s tasks.Sieve) (v boardView, err error) {
	all, err := m.Projects(ctx, tasks.Page{Limit: 500})
	if err != nil {
		return v, err
	}
	v.All, v.Sieve = project == allProjects, s
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
		v.Columns = append(v.Columns, column{Status: string(s), Name: statusNames[s]})
	}
	for _, p := range shown {
		if err := v.addProject(ctx, m, p); err != nil {
			return v, err
		}
	}
	v.sift()
	return v, nil
}

// askingCards is the maximum number of cards with their question.
const askingCards = 20

// questions adds what cards ask a person.
func (b *Board) questions(ctx context.Context, columns []column) error {
	left := askingCards
	for _, c := range columns {
		for i := range c.Tasks {
			one := &c.Tasks[i]
			if one.WaitsFor != tasks.ForPerson || left == 0 {
				continue
			}
			left--
			asked, err := b.options.Questions(ctx, one.AttemptID)
			if err != nil {
				return err
			}
			if len(asked) > 0 {
				one.Question = asked[0].Text
			}
		}
	}
	return nil
}

// addProject adds a project's tasks to the columns.
func (v *boardView) addProject(ctx context.Context, m *tasks.Manager, p tasks.Project) error {
	most := columnTasks
	if v.Sieve.On() {
		most = siftedTasks
	}
	found, err := m.Cards(ctx, p, most)
	for i, one := range found {
		c := &v.Columns[i]
		c.More, c.cards = c.More || one.More, append(c.cards, one.Cards...)
	}
	return err
}

// sift fills the filter's menus, and removes the tasks that it does not select.
func (v *boardView) sift() {
	var agents, labels []string
	for i := range v.Columns {
		c := &v.Columns[i]
		tasks.SortCards(c.cards)
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
}

// create creates the task from the form, or a template.
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
	t, err := m.CreateTask(r.Context(), tasks.NewTask{
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
