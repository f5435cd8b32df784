package work

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// sources are the tools that name the values which a field takes.
var sources = map[string]string{
	"project_id":           "list_projects",
	"repo_id":              "list_repos",
	"repos":                "list_repos",
	"target_branch":        "list_repos",
	"task_id":              "list_tasks",
	"attempt_id":           "list_task_attempts",
	"session_id":           "get_attempt_status",
	"execution_process_id": "get_attempt_status",
	"executor":             "list_executors",
	"variant":              "list_executors",
	"path":                 "get_attempt_changes",
	"paths":                "get_attempt_changes",
}

// hint is the next step after a failure of a tool. It names a tool, always.
func (o Options) hint(tool string, f *fault.Fault) string {
	if f.Hint != "" {
		if names.MatchString(f.Hint) {
			return o.named(f.Hint)
		}
		return f.Hint + "; then call " + tool + " again"
	}
	field, _ := f.Details["field"].(string)
	if i := strings.LastIndexByte(field, '.'); i >= 0 {
		field = field[i+1:]
	}
	switch source, ok := sources[field]; {
	case ok && o.name(source) != tool:
		return fmt.Sprintf("call %s for a valid %s, then call %s again", o.named(source), field, tool)
	case field != "":
		return fmt.Sprintf("correct %s and call %s again", field, tool)
	}
	return fmt.Sprintf("correct the arguments and call %s again; tools/list has its schema", tool)
}

// names matches the names of the tools without a prefix.
var names = regexp.MustCompile(`\b(list_projects|list_repos|list_executors|list_tasks|get_task|create_task|update_task|delete_task|` +
	`list_task_attempts|start_task_attempt|follow_up|stop_attempt|get_attempt_status|tail_attempt_logs|tail_session_messages|` +
	`get_attempt_changes|get_attempt_file|get_attempt_patch|get_context)\b`)

// named is a text about tools with the names that they have here.
func (o Options) named(text string) string {
	if o.fewer {
		text = strings.ReplaceAll(text, "list_projects", "get_context")
	}
	if o.Prefix == "" {
		return text
	}
	return names.ReplaceAllStringFunc(text, o.name)
}

// invalid is a refusal that names a field.
func invalid(field, message, hint string) *fault.Fault {
	return fault.New("invalid_argument", message, hint).With("field", field)
}
