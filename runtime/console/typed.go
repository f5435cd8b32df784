package console

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// ReadAnswers reads arguments q=v, where q is the id of a question, #N for the
// Nth, or either with "__other" for own words; repeated, for several values.
// Where there is one question, v alone answers it.
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
		return "", "", fault.Misuse(fmt.Sprintf("answer %q is not q=v", arg), "write QUESTION=VALUE, where the question is its id or '#1', in quotes")
	}
	for i := range len(arg) {
		if arg[i] != '=' {
			continue
		}
		if name, ok := fieldName(r, arg[:i]); ok { // ids may have a "=" too
			return name, arg[i+1:], nil
		}
	}
	name, _, _ = strings.Cut(arg, "=")
	var ids []string
	for _, q := range r.Questions {
		ids = append(ids, q.ID)
	}
	if len(ids) == 0 {
		return "", "", fault.Misuse(fmt.Sprintf("there is no question %q: %s has none", name, r.ID), "agree to it without answers: deskhand ask answer "+r.ID)
	}
	return "", "", fault.Misuse(fmt.Sprintf("there is no question %q", name), "take "+textutil.Some(ids, 30)+", or a number such as '#"+strconv.Itoa(len(ids))+"'")
}

// fieldName is the field that a name means.
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
