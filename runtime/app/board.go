package app

import (
	"context"
	"net/http"

	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/board"
)

// boardPage puts the pages of the work behind a front.
// people are those of questions, if this server has them.
func (a *App) boardPage(o *web.Options, people *peoplePages) {
	needShell(o, board.Path)
	options := board.Options{
		Shell: o.Shell, Log: a.log,
		Manager: a.Work,
		Questions: func(ctx context.Context, attemptID string) (list []board.Question, err error) {
			questions, err := a.Questions(ctx, attemptID)
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
func needShell(o *web.Options, first string) {
	if o.Shell != nil {
		return
	}
	o.Shell = newShell(o.People)
	o.Mounts["GET /{$}"] = http.RedirectHandler(first, http.StatusSeeOther)
}
