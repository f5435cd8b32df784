package console

import (
	"errors"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// nextSteps maps codes of rejections to hints: package elicit does not know the commands.
var nextSteps = map[string]string{
	elicit.UnknownRequest:   "list all questions: deskhand ask list --all",
	elicit.AmbiguousID:      "name one of them by its ID: deskhand ask list",
	elicit.AlreadyCompleted: "show the answer: deskhand ask show ID",
	elicit.NotYours:         "show who may answer: deskhand ask show ID",
	elicit.InvalidAnswers:   "show its questions and options: deskhand ask show ID",
}

// NextStep returns a hint for the code of a rejection of a question, or "".
func NextStep(code, id string) string { return strings.Replace(nextSteps[code], "ID", id, 1) }

// Hinted gives a rejection without a hint one that names the question.
func Hinted(err error, id string) error {
	if r := new(elicit.Rejection); errors.As(err, &r) && r.Hint == "" {
		own := *r
		own.Hint = NextStep(r.Code, id)
		return &own
	}
	return err
}
