package work

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// target selects a session: directly, or as the newest session of an attempt.
type target struct {
	AttemptID contract.UUID `json:"attempt_id" doc:"ID of an attempt, to select its newest session. Exactly one of attempt_id and session_id."`
	SessionID contract.UUID `json:"session_id" doc:"ID of a session, from get_attempt_status. Exactly one of attempt_id and session_id."`
}

func needs(fields ...string) *jsonschema.Schema { return &jsonschema.Schema{Required: fields} }

func not(s *jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{Not: s} }

func anyOf(list ...*jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{AnyOf: list} }

// notOneTarget returns a schema that matches arguments with both targets or none.
func notOneTarget() *jsonschema.Schema {
	return anyOf(needs("attempt_id", "session_id"), not(anyOf(needs("attempt_id"), needs("session_id"))))
}

func oneTarget(tool string, given contract.Given) *fault.Fault {
	const exactly = "supply exactly one target identifier, attempt_id or session_id, and call "
	switch attempt, session := given.Has("attempt_id"), given.Has("session_id"); {
	case attempt && session:
		return because(tasks.AmbiguousTarget, refuse("invalid_argument", "both attempt_id and session_id are set", exactly+tool+" again"))
	case !attempt && !session:
		return because(tasks.MissingRequired, refuse("invalid_argument", "neither attempt_id nor session_id is set",
			exactly+tool+" again; list_task_attempts lists attempts"))
	}
	return nil
}

// onePagination rejects the field cursor together with a field for the other
// direction.
func onePagination(tool string, given contract.Given, afters ...string) *fault.Fault {
	modes := append([]string{"cursor"}, afters...)
	var both []string
	for _, mode := range modes {
		if given.Has(mode) {
			both = append(both, mode)
		}
	}
	if len(both) < 2 {
		return nil
	}
	return because(tasks.MixedPagination, refuse("invalid_argument", both[0]+" and "+both[1]+" are both set",
		"use only one pagination mode and call "+tool+" again: cursor for older entries, "+afters[0]+" for newer ones"))
}
