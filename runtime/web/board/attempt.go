package board

import (
	"context"
	"html/template"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// standing is an attempt's state in words for people.
type standing struct {
	tasks.AttemptStatus
	Word      string // state of the attempt, for example completed or running
	Tone      string // CSS classes of the chip: good, warn or alarm, and the mark runs, asks, fails or lands
	Live      bool   // whether something is running or will run
	Since     moment
	Last      moment
	Questions []Question
	InPlace   bool // whether questions are answered on the attempt's page
}

func (b *Board) standingOf(ctx context.Context, m *tasks.Manager, id string) (s standing, err error) {
	if s.AttemptStatus, err = m.Status(ctx, id); err != nil {
		return s, err
	}
	if s.Questions, err = b.options.Questions(ctx, id); err != nil {
		return s, err
	}
	s.InPlace = b.options.Answer != nil
	s.Word, s.Since, s.Last = string(s.State), moment{s.Created}, moment{s.Active}
	s.Live = s.State == tasks.Running
	switch {
	case s.WaitsFor == tasks.ForStarter:
		s.Word, s.Tone = "waiting for its starter", "warn"
	case s.Unassigned:
		s.Word, s.Tone = tasks.ForMachineState, "warn"
	case s.Waiting:
		s.Word, s.Tone = "waiting for a free slot", "warn"
	case s.WaitsFor == tasks.ForPerson:
		s.Word, s.Tone = "waiting for you", "warn asks"
	case s.State == tasks.Completed && s.Work.State == tasks.OffBranch:
		s.Word, s.Tone = "completed, off its branch", "warn"
	case !s.Live && s.Work.State == tasks.LandedWork:
		s.Word, s.Tone = "landed", "good lands"
	case s.Live:
		s.Tone = "good runs"
	case s.State == tasks.Completed:
		s.Tone = "good"
	case s.State == tasks.Failed:
		s.Tone = "alarm fails"
		if s.Failure == "killed" {
			s.Word, s.Tone = "stopped", ""
		}
	case s.State == tasks.Idle:
		s.Word = "not started"
	}
	return s, nil
}

// Target compares the branch with its target, for example "3 behind, 2 ahead,
// conflicts in shop/README.md", or says that someone has merged it. It returns "" if there
// is no difference.
func (s standing) Target() string {
	ahead, behind, own := 0, 0, false
	var conflicts []string
	for i, d := range s.Distances {
		ahead, behind, conflicts = ahead+d.Ahead, behind+d.Behind, append(conflicts, d.Conflicts...)
		own = own || i < len(s.Repos) && s.Repos[i].Base != "" && d.Head != s.Repos[i].Base
	}
	switch {
	case s.Work.State == tasks.LandedWork:
		return ""
	case ahead == 0 && own:
		return "merged into " + s.Distances[0].Target
	case ahead+behind == 0:
		return ""
	}
	text := strconv.Itoa(behind) + " behind, " + strconv.Itoa(ahead) + " ahead"
	if len(conflicts) > 0 {
		text += ", conflicts in " + textutil.Shorten(strings.Join(conflicts, ", "), 400)
	}
	return text
}

// attemptView is the data of an attempt's page.
type attemptView struct {
	standing
	Task    tasks.Task
	Open    template.HTML // the open question, with its form
	Log     logView
	Raw     bool // whether the raw log is shown
	Review  reviewView
	CanSend bool   // a follow-up can be sent or queued, now or later
	Filled  filled // a form that was refused
	HasDev  bool   // the project has a dev server
	DevLog  string // the end of the dev server's output
	local   bool   // the browser is on this machine
}

func (b *Board) oneAttempt(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	return b.showAttempt(w, r, m, filled{})
}

func (b *Board) showAttempt(w http.ResponseWriter, r *http.Request, m *tasks.Manager, f filled) error {
	ctx, id := r.Context(), r.PathValue("id")
	l := b.lookOf(w, r, id)
	review := b.reviewing(ctx, m, l) // git runs while the rest of the page is prepared
	one, err := b.standingOf(ctx, m, id)
	if err != nil {
		return err
	}
	v := attemptView{standing: one, Raw: r.FormValue("channel") == "raw", CanSend: one.SessionID != "" || one.Live, Filled: f, local: isLocal(r)}
	if v.Task, err = m.Task(ctx, one.TaskID); err != nil {
		return err
	}
	if v.HasDev, err = m.HasDevServer(ctx, id); err == nil && v.Dev != nil {
		v.DevLog, err = m.DevLog(id, devLines)
	}
	if err != nil && fault.Of(err) == nil { // the folder may be on another machine
		return err
	}
	channel := tasks.Normalized
	if v.Raw {
		channel = tasks.Raw
	}
	if words := strings.TrimSpace(r.FormValue("q")); words != "" {
		v.Log, err = b.find(ctx, m, v.Attempt, words)
	} else if id := r.FormValue("entry"); id != "" {
		v.Log, err = b.linked(ctx, m, v.Attempt, channel, id)
	} else {
		v.Log, err = b.conversation(ctx, m, v.Attempt, channel, r.FormValue("before"))
	}
	if err != nil {
		return err
	}
	v.Review.look = l
	if v.SessionID != "" || !v.Live { // before a session exists, the worktree may be incomplete
		if v.Review, err = b.reviewOf(ctx, m, l, v.TaskID, review); err != nil {
			return err
		}
	}
	if v.InPlace && (v.Live || len(v.Questions) > 0) {
		if v.Open, err = b.options.Answer(w, r, id); err != nil {
			return err
		}
	}
	b.write(w, r, f.status(), b.attempt, one.Word+": "+v.Task.Title, v)
	return nil
}

// actOnAttempt handles the buttons on the attempt's page.
func (b *Board) actOnAttempt(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	id := r.PathValue("id")
	var err error
	switch act := r.PostFormValue("act"); act {
	case "send", "queue", "interrupt":
		q := tasks.FollowUpRequest{AttemptID: id, Prompt: typed(r, "prompt"), RequestID: page.Once(r)}
		if r.PostFormValue("comments") != "" {
			err = b.sayWithComments(r.Context(), m, act, q)
		} else {
			err = b.tell(r.Context(), m, act, q)
		}
	case "cancel":
		_, err = m.FollowUp(r.Context(), tasks.FollowUpRequest{Action: tasks.Cancel, AttemptID: id})
	case "reviews":
		err = sendReviews(r.Context(), m, id)
	case "dev":
		_, _, err = m.StartDevServer(r.Context(), id, nil)
	case "devstop":
		_, err = m.StopDevServer(r.Context(), id)
	case "stop", "kill":
		_, err = m.Stop(r.Context(), id, act == "kill")
	default:
		err = errButton
	}
	if f := fault.Of(err); f != nil && f != errButton {
		if f.Code == tasks.MissingRequired {
			f = fault.New(f.Code, "There is nothing to send.", "Write what the agent should do next.")
		}
		return b.showAttempt(w, r, m, filledBy(r, f))
	}
	if err != nil {
		return err
	}
	return back(w, r, AttemptPath(id))
}

// devLines is how many lines of a dev server's output the page shows.
const devLines = 200

// IsLocal reports whether the browser is on the server's machine.
func (v attemptView) IsLocal() bool { return v.local }

// sendReviews sends the forge's review comments to the agent.
func sendReviews(ctx context.Context, m *tasks.Manager, id string) error {
	sent, _, err := m.SendPullComments(ctx, id)
	if err == nil && len(sent) == 0 {
		return fault.New(tasks.NoPull, "There are no new review comments.", "")
	}
	return err
}

// HasReviews reports whether a pull request is open whose review comments can be sent.
func (v attemptView) HasReviews() bool {
	return v.CanSend && !v.Live && slices.ContainsFunc(v.Pulls, func(pr tasks.PullRequest) bool { return pr.Pull.State == forge.Open && pr.Pull.Number > 0 })
}

// Folders returns the paths of the attempt's worktrees, one for each
// repository, quoted for a shell.
func (v attemptView) Folders() (quoted []string) {
	for _, r := range v.Repos {
		quoted = append(quoted, "'"+strings.ReplaceAll(filepath.Join(v.Dir, r.Name), "'", `'\''`)+"'")
	}
	return quoted
}
