package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// outputs are the forms in which ask prints an answer.
var outputs = []string{"value", "json", "lines", "env", "nul", "full"}

const outputUsage = "form of the answer: value, json, lines, env, nul or full (default: value; json for several questions)"

// outputOf checks --output against what is asked.
func outputOf(given string, questions int) (string, error) {
	switch {
	case given == "" && questions > 1:
		return "json", nil
	case given == "":
		return "value", nil
	case !slices.Contains(outputs, given):
		return "", misuse(fmt.Sprintf("unknown --output %q", given), "take one of "+strings.Join(outputs, ", "))
	case questions > 1 && (given == "value" || given == "nul"):
		return "", misuse("--output "+given+" is for one question", "take json, lines or env")
	}
	return given, nil
}

// askOutput is what ask_user returns.
type askOutput struct {
	Answered  bool        `json:"answered"`
	Cancelled bool        `json:"cancelled"`
	TimedOut  bool        `json:"timedOut"`
	Answers   []askAnswer `json:"answers"`
}

type askAnswer struct {
	QuestionID string   `json:"questionId"`
	Values     []string `json:"values"`
	CustomText string   `json:"customText,omitempty"`
}

// outputFor is an ended request as ask_user tells of it.
func outputFor(r elicit.Request) askOutput {
	out := askOutput{Answers: []askAnswer{}}
	if r.Completion == nil {
		return out
	}
	switch r.Completion.Outcome {
	case elicit.Accept:
		out.Answered = true
		for _, q := range r.Questions {
			out.Answers = append(out.Answers, answerFor(q, r.Answers[q.ID]))
		}
	case elicit.Decline, elicit.Cancel:
		out.Cancelled = true
	case elicit.Timeout:
		out.TimedOut = true
	}
	return out
}

func answerFor(q elicit.Question, a elicit.Answer) askAnswer {
	out := askAnswer{QuestionID: q.ID, Values: []string{}, CustomText: strings.Join(a.Freeform, "\n")}
	if a.Value == nil {
		return out
	}
	out.CustomText = strings.Join(a.Value.Freeform, "\n")
	switch v := a.Value; v.Kind {
	case elicit.TextValue:
		out.Values = append(out.Values, v.Text)
	case elicit.NumberValue:
		out.Values = append(out.Values, strconv.FormatFloat(v.Number, 'f', -1, 64))
	case elicit.BooleanValue:
		out.Values = append(out.Values, map[bool]string{true: "yes", false: "no"}[v.Boolean])
	case elicit.SelectedValue:
		if o, ok := q.Option(v.Text); ok {
			out.Values = append(out.Values, o.Label)
		}
	case elicit.SelectedManyValue:
		for _, o := range q.Options { // in their order, however they were chosen
			if slices.Contains(v.Options, o.ID) {
				out.Values = append(out.Values, o.Label)
			}
		}
	}
	return out
}

// texts are an answer's choices, and its own words behind them.
func (a askAnswer) texts() []string {
	if a.CustomText == "" {
		return a.Values
	}
	return append(slices.Clone(a.Values), a.CustomText)
}

// printAnswer writes an ended request to stdout. In the forms json and full that
// is always something, in the others only an answer.
func (a *app) printAnswer(r elicit.Request, form string) error {
	switch form {
	case "json":
		return a.json(outputFor(r))
	case "full":
		return a.json(r)
	}
	if !r.Accepted() {
		return nil
	}
	var b strings.Builder
	for _, one := range outputFor(r).Answers {
		one.write(&b, form)
	}
	_, err := io.WriteString(a.stdout, painter(a.stdout).plain(b.String()))
	return err
}

func (a askAnswer) write(b *strings.Builder, form string) {
	switch form {
	case "value":
		for _, text := range a.texts() {
			b.WriteString(text + "\n")
		}
	case "nul":
		for _, text := range a.texts() {
			b.WriteString(text + "\x00")
		}
	case "lines":
		for _, text := range a.texts() {
			fmt.Fprintf(b, "%s=%s\n", a.QuestionID, strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(text))
		}
	case "env":
		fmt.Fprintf(b, "%s='%s'\n", variableName(a.QuestionID), strings.ReplaceAll(strings.Join(a.texts(), "\n"), "'", `'\''`))
	}
}

// variableName makes a name that a shell takes of a question's id.
func variableName(id string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(id))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}
