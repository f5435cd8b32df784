package work

import (
	"cmp"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract/contracttest"
	"github.com/deskhand/deskhand/runtime/goldentest"
)

func TestLimitsStandInWords(t *testing.T) {
	for _, tool := range all() {
		for _, unsaid := range contracttest.Limits(tool) {
			t.Errorf("the description does not say %s", unsaid)
		}
	}
}

// right are calls that are right and say more than [contracttest.Example].
var right = map[string]string{
	"list_projects":         `{"limit":5}`,
	"list_repos":            `{"project_id":"` + someID + `"}`,
	"list_executors":        `{}`,
	"list_tasks":            `{"project_id":"` + someID + `","status":"todo","limit":5}`,
	"get_task":              `{"task_id":"` + someID + `"}`,
	"create_task":           `{"project_id":"` + someID + `","title":"t","description":"d"}`,
	"update_task":           `{"task_id":"` + someID + `","status":"done"}`,
	"delete_task":           `{"task_id":"` + someID + `"}`,
	"list_task_attempts":    `{"task_id":"` + someID + `"}`,
	"start_task_attempt":    `{"task_id":"` + someID + `","executor":"codex","repos":[{"repo_id":"` + otherID + `"}]}`,
	"follow_up":             `{"attempt_id":"` + someID + `","action":"send","prompt":"go on"}`,
	"stop_attempt":          `{"attempt_id":"` + someID + `","force":true}`,
	"get_attempt_status":    `{"attempt_id":"` + someID + `"}`,
	"tail_attempt_logs":     `{"attempt_id":"` + someID + `","after_entry_index":3,"wait_ms":1000}`,
	"tail_session_messages": `{"attempt_id":"` + someID + `","limit":5}`,
	"get_attempt_changes":   `{"attempt_id":"` + someID + `","force":true}`,
	"get_attempt_file":      `{"attempt_id":"` + someID + `","path":"r/a.txt","start_line":1}`,
	"get_attempt_patch":     `{"attempt_id":"` + someID + `","paths":["r/a.txt"]}`,
	"get_context":           `{}`,
}

// Each typical mistake is understood, or refused in one line that names the
// field. The golden file has every call and what became of it.
func TestMistakesAreUnderstoodOrCorrected(t *testing.T) {
	also := map[string]string{"attempt_id": "id", "task_id": "task", "project_id": "project", "prompt": "message", "repos": "repositories",
		"executor": "agent", "paths": "files", "path": "file", "title": "name", "limit": "max_results", "status": "state", "action": "mode"}
	var b strings.Builder
	for _, tool := range all() {
		mistakes := contracttest.Mistakes(tool, cmp.Or(right[tool.Name], contracttest.Example(tool)), also)
		b.WriteString(contracttest.TellMistakes(t, tool, mistakes, func(err error) bool { return err.Error() == "closed" }))
	}
	goldentest.Compare(t, filepath.Join("testdata", "mistakes.golden"), b.String())
}
