package phrases

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Bench lists the methods of a tasks.Manager that Agents uses.
type Bench interface {
	ProjectAt(ctx context.Context, dir string) (tasks.Project, tasks.Repo, error)
	Tasks(ctx context.Context, q tasks.TaskQuery) (tasks.TaskPage, error)
	CreateTask(ctx context.Context, n tasks.NewTask) (tasks.Task, error)
	UpdateTask(ctx context.Context, id string, c tasks.TaskChange) (tasks.Task, error)
	Attempts(ctx context.Context, taskID string) ([]tasks.AttemptSummary, error)
	Start(ctx context.Context, r tasks.StartRequest) (tasks.Started, error)
	AwaitEnds(ctx context.Context, attemptIDs []string, all bool) error
	Status(ctx context.Context, attemptID string) (tasks.AttemptStatus, error)
	File(ctx context.Context, q tasks.FileQuery) (tasks.File, error)
}

// Agents writes phrases with a coding agent of the bench, in one or more tasks
// per docs folder. The tasks are in the project of the repository that contains
// Dir.
type Agents struct {
	Bench Bench
	// Dir is a folder of the repository, and Executor the name of the agent.
	Dir, Executor string
	// Concurrent is the maximum number of concurrent tasks. If zero, it is 2.
	Concurrent int
}

const (
	// taskTitle is the prefix of the titles of the tasks that Agents creates.
	// It distinguishes them from other tasks.
	taskTitle = "Write search phrases: "
	// answerFile is the file that an agent writes, in the root folder of the
	// repository.
	answerFile = "deskhand-phrases.jsonl"
	// perTask and bytesPerTask limit the sections of a task. A task's prompt may
	// be passed to a program as an argument, and Linux limits an argument to 128
	// KiB.
	perTask      = 30
	bytesPerTask = 60 << 10
)

// job is a task that an agent is working on.
type job struct {
	task, attempt, title string
	sections             []*Section
	expected             Usage
}

// WriteByAgents has a coding agent write the phrases for plan's sections into
// file, as [Write] does with a model. It first collects the results of an earlier
// run's tasks, and waits for tasks that are still running. If ctx is done, the
// agents continue, and the next run collects their results.
func WriteByAgents(ctx context.Context, file *File, plan Plan, a Agents, o Options) (Report, error) {
	project, repo, err := a.Bench.ProjectAt(ctx, a.Dir)
	if err != nil {
		return Report{}, err
	}
	w := &working{writing: start(file, o, len(plan.Todo)), Agents: a, project: project.ID, repo: repo}
	jobs, err := w.earlier(ctx, plan)
	if err != nil {
		return w.end(err)
	}
	taken := map[string]bool{}
	for _, j := range jobs {
		for _, s := range j.sections {
			taken[s.Digest] = true
		}
	}
	waiting := grouped(plan, taken)
	for len(jobs) > 0 || len(waiting) > 0 {
		for len(waiting) > 0 && len(jobs) < cmp.Or(a.Concurrent, 2) && w.report.Stopped == "" {
			j, err := w.begin(ctx, waiting[0])
			if err != nil {
				return w.end(err)
			}
			waiting = waiting[1:]
			if j != nil {
				jobs = append(jobs, *j)
			}
		}
		if len(jobs) == 0 {
			break
		}
		if jobs, err = w.harvest(ctx, jobs); err != nil {
			return w.end(err)
		}
	}
	return w.end(nil)
}

// working is one call of WriteByAgents.
type working struct {
	*writing
	Agents
	project string
	repo    tasks.Repo
}

// grouped groups the plan's sections by folder. Each group is small enough for
// one task. The folders are in the order of their first sections.
func grouped(plan Plan, taken map[string]bool) (groups [][]*Section) {
	last := map[string]int{} // by folder: index of the group to which the folder's next section is added
	size := map[int]int{}
	for i := range plan.Todo {
		s := &plan.Todo[i]
		if taken[s.Digest] {
			continue
		}
		at, ok := last[s.Folder()]
		n := len(s.line())
		if !ok || len(groups[at]) == perTask || size[at]+n > bytesPerTask {
			at = len(groups)
			last[s.Folder()] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], s)
		size[at] += n
	}
	return groups
}

// task returns the description of a task. Each section is a line of JSON, which
// the next run can parse again.
func (w *working) task(sections []*Section) string {
	var b strings.Builder
	b.WriteString(rules(w.Each))
	fmt.Fprintf(&b, "\nThe sections follow, a JSON object each. Write the file %s in the uppermost folder of the repository, with one line for each section in this form, and change nothing else:\n"+
		`{"chunk_id": "...", "phrases": ["...", "..."]}`+"\nDo not commit. Sections:\n", answerFile)
	for _, s := range sections {
		b.WriteString(s.line())
	}
	return b.String()
}

// line returns a section as a line of a task's description.
func (s *Section) line() string {
	b, _ := json.Marshal(map[string]string{"chunk_id": s.IDs[0], "digest": s.Digest, "text": s.shown()}) // strings never fail to marshal
	return string(b) + "\n"
}

// begin creates a task and starts the agent. It returns nil if the remaining
// budget is too small.
func (w *working) begin(ctx context.Context, sections []*Section) (*job, error) {
	text := w.task(sections)
	expected := Usage{TokensIn: tokensOf(text), TokensOut: int64(len(sections) * (outAround + w.Each*outEach))}
	if !w.reserve(expected) {
		return nil, nil
	}
	title := fmt.Sprintf("%s%s, %s", taskTitle, sections[0].Folder(), textutil.Count(len(sections), "section"))
	task, err := w.Bench.CreateTask(ctx, tasks.NewTask{ProjectID: w.project, Title: textutil.Shorten(title, 100), Description: text})
	if err != nil {
		return nil, err
	}
	return w.attempt(ctx, job{task: task.ID, title: task.Title, sections: sections, expected: expected})
}

// attempt starts the agent on a task.
func (w *working) attempt(ctx context.Context, j job) (*job, error) {
	started, err := w.Bench.Start(ctx, tasks.StartRequest{TaskID: j.task, Executor: w.Executor, Repos: []tasks.RepoTarget{{RepoID: w.repo.ID}}})
	if err != nil {
		return nil, err
	}
	j.attempt = started.AttemptID
	return &j, nil
}

// earlier returns the unfinished tasks of an earlier run, with the sections
// that still need phrases. It cancels a task that failed or has no such
// sections.
func (w *working) earlier(ctx context.Context, plan Plan) (jobs []job, err error) {
	open := map[string]*Section{}
	for i := range plan.Todo {
		open[plan.Todo[i].Digest] = &plan.Todo[i]
	}
	for page := (tasks.Page{}); ; {
		found, err := w.Bench.Tasks(ctx, tasks.TaskQuery{ProjectID: w.project, Page: page})
		if err != nil {
			return nil, err
		}
		for _, t := range found.Tasks {
			if !strings.HasPrefix(t.Title, taskTitle) || t.Status == tasks.Done || t.Status == tasks.Cancelled {
				continue
			}
			j := job{task: t.ID, title: t.Title, sections: sectionsIn(t.Description, open)}
			keep, err := w.again(ctx, &j)
			if err != nil {
				return nil, err
			}
			if keep {
				jobs = append(jobs, j)
			}
		}
		if page.Cursor = found.Next; found.Next == "" {
			return jobs, nil
		}
	}
}

// again sets the attempt of an earlier task. If there is no attempt to wait for
// or collect, again cancels the task and keep is false.
func (w *working) again(ctx context.Context, j *job) (keep bool, err error) {
	attempts, err := w.Bench.Attempts(ctx, j.task)
	if err != nil {
		return false, err
	}
	if len(attempts) > 0 && len(j.sections) > 0 {
		j.attempt = attempts[0].ID
		s, err := w.Bench.Status(ctx, j.attempt)
		if err != nil {
			return false, err
		}
		if !s.Ended() || s.Failure == "" {
			return true, nil
		}
	}
	return false, w.settle(ctx, *j, tasks.Cancelled)
}

// sectionsIn returns the sections in a task's description that still need
// phrases.
func sectionsIn(description string, open map[string]*Section) (sections []*Section) {
	for text := range strings.Lines(description) {
		var s struct {
			ID     string `json:"chunk_id"`
			Digest string `json:"digest"`
		}
		if strings.HasPrefix(text, `{"chunk_id":`) && json.Unmarshal([]byte(text), &s) == nil && open[s.Digest] != nil {
			sections = append(sections, open[s.Digest])
		}
	}
	return sections
}

func (w *working) settle(ctx context.Context, j job, status tasks.Status) error {
	_, err := w.Bench.UpdateTask(ctx, j.task, tasks.TaskChange{Status: &status})
	return err
}

// harvest waits until at least one job has ended, collects the results of ended
// jobs and returns the other jobs.
func (w *working) harvest(ctx context.Context, jobs []job) (left []job, err error) {
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.attempt)
	}
	if err := w.Bench.AwaitEnds(ctx, ids, false); err != nil {
		return nil, err
	}
	for _, j := range jobs {
		s, err := w.Bench.Status(ctx, j.attempt)
		if err != nil {
			return nil, err
		}
		if !s.Ended() {
			left = append(left, j)
			continue
		}
		u := Usage{Requests: 1, TokensIn: s.Usage.TokensIn, TokensOut: s.Usage.TokensOut, Cost: float64(s.Usage.Cost) / 1e6}
		w.used(j.expected, u)
		if err := w.collect(ctx, j, s.Failure); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// collect stores the phrases that a job's agent wrote and marks the task as
// done. If the agent wrote no file, collect cancels the task, and the next run
// creates another one.
func (w *working) collect(ctx context.Context, j job, failed string) error {
	f, err := w.Bench.File(ctx, tasks.FileQuery{AttemptID: j.attempt, Path: w.repo.Name + "/" + answerFile, MaxBytes: 512 << 10})
	if err != nil && fault.Of(err) == nil {
		return err
	}
	if err != nil || f.Blocked.Reason != "" {
		why := cmp.Or(failed, f.Blocked.Detail, f.Blocked.Reason)
		if why == "" {
			why = err.Error()
		}
		w.fail(j.sections[0].IDs[0], fmt.Sprintf("the agent of task %q (attempt %s) wrote no %s: %s", j.title, j.attempt, answerFile, why))
		return w.settle(ctx, j, tasks.Cancelled)
	}
	given := answers(f.Content)
	for _, s := range j.sections {
		if reason := w.take(s, given[s.IDs[0]]); reason != "" {
			w.fail(s.IDs[0], reason)
		}
	}
	if err := w.file.Save(true); err != nil {
		return err
	}
	w.tell()
	return w.settle(ctx, j, tasks.Done)
}

// answers returns the phrases in a file that an agent wrote, by chunk ID. It
// skips malformed lines, so their sections count as having no phrases.
func answers(content []byte) map[string][]string {
	given := map[string][]string{}
	for text := range bytes.Lines(content) {
		var l line
		if json.Unmarshal(bytes.TrimSpace(text), &l) == nil && l.ID != "" {
			given[l.ID] = slices.Concat(given[l.ID], l.Phrases)
		}
	}
	return given
}
