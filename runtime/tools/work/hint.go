package work

import (
	"fmt"
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

// hint is the next step after a failure that has none of its own.
func hint(tool string, f *fault.Fault) string {
	field, _ := f.Details["field"].(string)
	if i := strings.LastIndexByte(field, '.'); i >= 0 {
		field = field[i+1:]
	}
	switch source, ok := sources[field]; {
	case ok && source != tool:
		return fmt.Sprintf("call %s for a valid %s, then call %s again", source, field, tool)
	case field != "":
		return fmt.Sprintf("correct %s and call %s again", field, tool)
	}
	return fmt.Sprintf("correct the arguments and call %s again; tools/list has its schema", tool)
}

// invalid is a refusal that names a field.
func invalid(field, message, hint string) *fault.Fault {
	return fault.New("invalid_argument", message, hint).With("field", field)
}
