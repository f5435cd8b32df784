package main

import (
	"context"
	"net/http"

	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/board"
)

// boardPage puts the pages of the work behind a front.
// people are those of questions, if this server has them.
func (a *app) boardPage(o *web.Options, work *workRoom, people *peoplePages) {
	a.needShell(o, board.Path)
	options := board.Options{
		Shell: o.Shell, Log: work.log,
		Manager: func(ctx context.Context) (*tasks.Manager, error) { return work.open(ctx) },
		Questions: func(ctx context.Context, attemptID string) (list []board.Question, err error) {
			questions, err := work.questions(ctx, attemptID)
			for _, q := range questions {
				list = append(list, board.Question{ID: q.ID, Text: q.Text, Standing: q.Standing})
			}
			return list, err
		},
	}
	if people != nil {
		options.Answer = people.inbox.OfAttempt
	}
	pages := board.New(options)
	mount(o, pages.Mounts())
	atShutdown(o, pages.Stop)
}

// needShell makes what pages share, where the inbox has not; first is then the
// page that people see first.
func (a *app) needShell(o *web.Options, first string) {
	if o.Shell != nil {
		return
	}
	o.Shell = newShell(o.People)
	o.Mounts["GET /{$}"] = http.RedirectHandler(first, http.StatusSeeOther)
}
