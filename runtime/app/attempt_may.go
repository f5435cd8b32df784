package app

import (
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit/askdoor"
)

// The attempt's token gives access only to these routes on the attempt's own port, and
// at /mcp only to these tools. Every other route and server of deskhand refuses the
// token. The attempt can also use the upstreams' tools that the user configured.

// AttemptRoutes lists the routes of an attempt's server, in addition to the
// front's own.
var AttemptRoutes = map[string]access.Rule{
	"/mcp": attempts, "/mcp/": attempts,
	askdoor.Path: attempts, askdoor.Path + "/": attempts, // deskhand ask: this attempt's questions
}

// attempts admits the attempt's token. The server knows no people.
var attempts = access.Rule{Level: access.Agents, Scope: access.Owner}

// AttemptMay maps each deskhand tool that an attempt may call to a
// description of what it reaches.
var AttemptMay = map[string]string{
	"search_docs":    "the served docs",
	"get_doc":        "the served docs",
	"list_docs":      "the served docs",
	"ask_user":       "a person; the question belongs to the attempt",
	"await_answer":   "this attempt's questions",
	"list_questions": "this attempt's questions",
	"get_context":    "this attempt, its task and its project",
	"create_task":    "this attempt's project; a person decides who works on the task",
}

// onlyWhatAttemptsMay panics if one of the tools is missing from AttemptMay, so no
// tool is served to attempts by accident.
func onlyWhatAttemptsMay(prefix string, tools []contract.Tool) []contract.Tool {
	for _, one := range tools {
		name := one.Name
		if prefix != "" {
			name = strings.TrimPrefix(name, prefix+"_")
		}
		if _, ok := AttemptMay[name]; !ok {
			panic(fmt.Sprintf("there is no rule for attempts that call %s", one.Name))
		}
	}
	return tools
}
