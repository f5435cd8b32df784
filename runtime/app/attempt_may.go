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

// AttemptRoutes are the routes of an attempt's server, beside those of the front
// itself.
var AttemptRoutes = map[string]access.Level{
	"/mcp": access.Agents, "/mcp/": access.Agents,
	askdoor.Path: access.Agents, askdoor.Path + "/": access.Agents, // deskhand ask: questions of this attempt
}

// AttemptMay are the tools of deskhand that an attempt has, each with what it
// reaches.
var AttemptMay = map[string]string{
	"search_docs":    "the docs that are served",
	"get_doc":        "the docs that are served",
	"list_docs":      "the docs that are served",
	"ask_user":       "a person; the question belongs to the attempt",
	"await_answer":   "questions of this attempt",
	"list_questions": "questions of this attempt",
	"get_context":    "this attempt, its task and its project",
	"create_task":    "the project of this attempt; a person decides who does it",
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
			panic(fmt.Sprintf("nothing says that an attempt may call %s", one.Name))
		}
	}
	return tools
}
