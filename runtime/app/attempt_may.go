package app

import (
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit/askdoor"
)

// What the token of an attempt opens: these routes of the port of its own, and
// behind /mcp these tools. Everything else, there and at any other server of
// deskhand, is refused. The tools of upstreams come on top, as the settings of
// the person have them.

// AttemptRoutes lists the routes of an attempt's server, in addition to the
// front's own.
var AttemptRoutes = map[string]access.Level{
	"/mcp": access.Agents, "/mcp/": access.Agents,
	askdoor.Path: access.Agents, askdoor.Path + "/": access.Agents, // deskhand ask: questions of this attempt
}

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
	"create_task":    "this attempt's project; a person decides who does it",
}

// onlyWhatAttemptsMay stops a tool that nobody has thought about from being
// served to agents in attempts.
func onlyWhatAttemptsMay(prefix string, tools []contract.Tool) []contract.Tool {
	for _, one := range tools {
		name := one.Name
		if prefix != "" {
			name = strings.TrimPrefix(name, prefix+"_")
		}
		if _, ok := AttemptMay[name]; !ok {
			panic(fmt.Sprintf("no rule says whether an attempt may call %s", one.Name))
		}
	}
	return tools
}
