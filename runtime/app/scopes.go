package app

import (
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/contract"
)

// Tools maps each deskhand tool behind /mcp to the scope that it requires of callers with
// names. Callers with the agents' token may call every tool that the server serves. The
// tools, prompts and resources of upstreams require [access.Ask].
var Tools = map[string]access.Scope{
	"search_docs": access.Docs,
	"get_doc":     access.Docs,
	"list_docs":   access.Docs,

	"ask_user":       access.Ask,
	"await_answer":   access.Ask,
	"list_questions": access.Ask,
	"ask_view":       access.Answer, // the form in which a client's person answers

	"get_context":           access.WorkRead,
	"list_projects":         access.WorkRead,
	"list_repos":            access.WorkRead,
	"list_executors":        access.WorkRead,
	"list_tasks":            access.WorkRead,
	"get_task":              access.WorkRead,
	"list_task_attempts":    access.WorkRead,
	"get_attempt_status":    access.WorkRead,
	"get_attempt_changes":   access.WorkRead,
	"get_attempt_file":      access.WorkRead,
	"get_attempt_patch":     access.WorkRead,
	"tail_attempt_logs":     access.WorkRead,
	"tail_session_messages": access.WorkRead,
	"wait_for_attempts":     access.WorkRead,

	"create_task":        access.WorkStart,
	"update_task":        access.WorkStart,
	"delete_task":        access.WorkStart,
	"start_task_attempt": access.WorkStart,
	"follow_up":          access.WorkStart,
	"stop_attempt":       access.WorkStart,

	"land_attempt":      access.WorkLand,
	"open_pull_request": access.WorkLand,
	"update_attempt":    access.WorkLand,
	"discard_attempt":   access.WorkLand,
}

// scoped sets the scopes of what a catalog holds of our own, except the prompts and
// resources, which are docs unless they are views. It panics if Tools lacks a tool, so
// that none is served by accident.
func scoped(c *contract.Catalog, prefix string) {
	for i := range c.Tools {
		name := c.Tools[i].Name
		if prefix != "" {
			name = strings.TrimPrefix(name, prefix+"_")
		}
		scope, ok := Tools[name]
		if !ok {
			panic(fmt.Sprintf("no rule says which scope %s requires", c.Tools[i].Name))
		}
		c.Tools[i].Scope = scope
	}
	views := map[string]access.Scope{}
	for _, t := range c.Tools {
		if t.View != "" && !t.OnlyViews {
			views[t.View] = t.Scope
		}
	}
	for i := range c.Prompts {
		c.Prompts[i].Scope = access.Docs
	}
	for i := range c.Resources {
		c.Resources[i].Scope = access.Docs
		if scope, view := views[c.Resources[i].URI]; view {
			c.Resources[i].Scope = scope
		}
	}
}
