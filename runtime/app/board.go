package app

import (
	"context"
	"net/http"

	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/board"
)

// boardPage mounts the board pages on a front. people holds the inbox pages; it is nil if
// this server has none.
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
		Asked: a.asked,
	}
	if people != nil {
		options.Answer = people.inbox.OfAttempt
	}
	pages := board.New(options)
	mount(o, pages.Mounts())
	withNews(o, board.Path, pages.Count, pages.Find)
	atShutdown(o, pages.Stop)
}

// needShell creates the shell that the pages share, unless the inbox has created it. The
// front page then redirects to the given path.
func needShell(o *web.Options, first string) {
	if o.Shell != nil {
		return
	}
	o.Shell = newShell(o.People)
	o.Mounts["GET /{$}"] = http.RedirectHandler(first, http.StatusSeeOther)
}
