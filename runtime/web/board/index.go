package board

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// columnTasks is the maximum number of tasks in a column. The command line lists
// all tasks.
const columnTasks = 100

// boardView is the data of the board.
type boardView struct {
	Projects []choice
	Project  string // ID of the shown project; empty if there is none
	Name     string
	Columns  []column
	Filled   filled // the refused form, if there is one
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
}

// card is a task on the board.
type card struct {
	ID, Title, Executor string
	Running, Failed     bool
	Stopped             bool // whether a person stopped the task, which is no reason for an alarm
	Asks                bool // whether one of the task's attempts is waiting for a person
	Waits               bool // whether all of the task's running attempts are waiting for a slot or their starter
	Off                 bool // whether work of the newest attempt is not on its branch
	Landed              bool // whether the task's work has landed
	Changed             moment
}

// statusNames maps statuses to their names for people.
var statusNames = map[tasks.Status]string{
	tasks.Todo: "To do", tasks.InProgress: "In progress", tasks.InReview: "In review", tasks.Done: "Done", tasks.Cancelled: "Cancelled",
}

func (b *Board) index(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	return b.showBoard(w, r, m, filled{})
}

func (b *Board) showBoard(w http.ResponseWriter, r *http.Request, m *tasks.Manager, f filled) error {
	v, err := b.boardOf(r.Context(), m, r.FormValue("project"))
	if err != nil {
		return err
	}
	v.Filled = f
	title := "Work"
	if v.Name != "" {
		title = page.Line(v.Name) + ": work"
	}
	b.write(w, r, f.status(), b.board, title, v)
	return nil
}

func (b *Board) boardOf(ctx context.Context, m *tasks.Manager, project string) (v boardView, err error) {
	all, err := m.Projects(ctx, tasks.Page{Limit: 500})
	if err != nil {
		return v, err
	}
	for i, p := range all.Projects {
		here := p.ID == project || project == "" && i == 0
		if here {
			v.Project, v.Name = p.ID, p.Name
		}
		v.Projects = append(v.Projects, choice{p.ID, p.Name, here})
	}
	if v.Project == "" {
		if project != "" {
			_, err = m.Repos(ctx, project) // if the project does not exist, Repos returns the error
		}
		return v, err
	}
	for _, s := range tasks.Statuses {
		found, err := m.Tasks(ctx, tasks.TaskQuery{ProjectID: v.Project, Status: s, Page: tasks.Page{Limit: columnTasks}})
		if err != nil {
			return v, err
		}
		c := column{Status: string(s), Name: statusNames[s], More: found.Next != ""}
		for _, t := range found.Tasks {
			one := card{ID: t.ID, Title: t.Title, Executor: t.Executor, Running: t.InProgress && t.WaitsFor == "", Asks: t.WaitsFor == tasks.ForPerson, Waits: t.WaitsFor == tasks.ForSlot || t.WaitsFor == tasks.ForStarter,
				Failed: t.LastFailed && !t.LastStopped && !t.InProgress, Stopped: t.LastStopped && !t.InProgress, Off: t.OffBranch, Landed: t.Landed, Changed: moment{t.Updated}}
			c.Tasks = append(c.Tasks, one)
		}
		v.Columns = append(v.Columns, c)
	}
	return v, nil
}

// create creates a task from a form.
func (b *Board) create(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
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
