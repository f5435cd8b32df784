package console

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// ReadAnswers parses arguments of the form q=v. q is a question's ID or #N for the Nth
// question, optionally with "__other" for a free-form answer. Repeated arguments give
// several values. If there is only one question, v is enough.
func ReadAnswers(r *elicit.Request, args []string) (map[string]elicit.Answer, error) {
	fields := map[string][]string{}
	for _, arg := range args {
		name, value, err := readField(r, arg)
		if err != nil {
			return nil, err
		}
		fields[name] = append(fields[name], value)
	}
	return r.Fields(fields)
}

func readField(r *elicit.Request, arg string) (name, value string, err error) {
	if len(r.Questions) == 1 && !strings.Contains(arg, "=") {
		return r.Questions[0].ID, arg, nil
	}
	if !strings.Contains(arg, "=") {
		return "", "", fault.Misuse(fmt.Sprintf("answer %q does not have the form q=v", arg), "write QUESTION=VALUE, where QUESTION is the question's ID or its number, for example '#1' (in quotes)")
	}
	for i := range len(arg) {
		if arg[i] != '=' {
			continue
		}
		if name, ok := fieldName(r, arg[:i]); ok { // IDs may contain "=" too
			return name, arg[i+1:], nil
		}
	}
	name, _, _ = strings.Cut(arg, "=")
	var ids []string
	for _, q := range r.Questions {
		ids = append(ids, q.ID)
	}
	if len(ids) == 0 {
		return "", "", fault.Misuse(fmt.Sprintf("there is no question %q: %s has no questions", name, r.ID), "agree to it without an answer: deskhand ask answer "+r.ID)
	}
	return "", "", fault.Misuse(fmt.Sprintf("there is no question %q", name), "use "+textutil.Some(ids, 30)+", or a number, for example '#"+strconv.Itoa(len(ids))+"'")
}

// fieldName returns the name of the form field that a question's name or number
// stands for.
func fieldName(r *elicit.Request, name string) (string, bool) {
	base, other := strings.CutSuffix(name, elicit.OtherSuffix)
	for i, q := range r.Questions {
		switch number := "#" + strconv.Itoa(i+1); {
		case name == q.ID, name == number:
			return q.ID, true
		case other && (base == q.ID || base == number):
			return q.ID + elicit.OtherSuffix, true
		}
	}
	return "", false
}
