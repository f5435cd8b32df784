package console

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
)

// Outputs lists the formats in which ask prints an answer.
var Outputs = []string{"value", "json", "lines", "env", "nul", "full"}

// OutputUsage is the usage text of --output.
const OutputUsage = "output format: value, json, lines, env, nul or full (default: value; json for several questions)"

// FormOf returns the output format from --output, or the default for this number of
// questions. It returns an error if the format does not fit the number of
// questions.
func FormOf(given string, questions int) (string, error) {
	switch {
	case given == "" && questions > 1:
		return "json", nil
	case given == "":
		return "value", nil
	case !slices.Contains(Outputs, given):
		return "", fault.Misuse(fmt.Sprintf("unknown --output %q", given), "use one of "+strings.Join(Outputs, ", "))
	case questions > 1 && (given == "value" || given == "nul"):
		return "", fault.Misuse("--output "+given+" works only with a single question", "use json, lines or env")
	}
	return given, nil
}

// Answer writes an ended request to stdout. The formats json and full always print
// something; the others print only an answer.
func (c *Console) Answer(r elicit.Request, form string) error {
	switch form {
	case "json":
		return c.JSON(asktools.OutputOf(&r))
	case "full":
		return c.JSON(r)
	}
	if !r.Accepted() {
		return nil
	}
	var b strings.Builder
	for _, one := range asktools.OutputOf(byIDs(r)).Answers {
		writeAnswer(&b, one, form)
	}
	_, err := io.WriteString(c.Stdout, PainterFor(c.Stdout).Plain(b.String()))
	return err
}

// byIDs returns r with each option's ID in place of its label, for scripts. An option
// without an ID of its own has its label as ID.
func byIDs(r elicit.Request) *elicit.Request {
	r.Questions = slices.Clone(r.Questions)
	for i := range r.Questions {
		options := slices.Clone(r.Questions[i].Options)
		for j := range options {
			options[j].Label = options[j].ID
		}
		r.Questions[i].Options = options
	}
	return &r
}

func writeAnswer(b *strings.Builder, a asktools.Answer, form string) {
	switch form {
	case "value":
		for _, text := range a.Texts() {
			b.WriteString(text + "\n")
		}
	case "nul":
		for _, text := range a.Texts() {
			b.WriteString(text + "\x00")
		}
	case "lines":
		for _, text := range a.Texts() {
			fmt.Fprintf(b, "%s=%s\n", a.QuestionID, strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(text))
		}
	case "env":
		fmt.Fprintf(b, "%s='%s'\n", variableName(a.QuestionID), strings.ReplaceAll(strings.Join(a.Texts(), "\n"), "'", `'\''`))
	}
}

// variableName converts a question's ID to a valid shell variable name.
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
