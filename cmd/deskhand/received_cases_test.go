//go:build unix && agents

package main

// reception is a call of a tool, and what the client's model has to receive of
// its result. In every text {name} stands for an id that an earlier result had.
type reception struct {
	tool  string // as deskhand names it, without a prefix
	shows string // the case, for the table
	args  string // JSON
	// keep names an id and the field of the result that has it; elc_ is the first
	// id of a question.
	keep map[string]string
	// question is a text of the question that the call asks, and person what
	// "deskhand ask" is then told, with the id of the question behind the first
	// word. Empty: nobody answers.
	question string
	person   []string
	// before is a command of deskhand that has to succeed before the call is made,
	// and until words that its output has to have; it is repeated till then. Its
	// output may have the ids of keep, too.
	before []string
	until  string
	// want are the words that the model has to receive; " | " separates words of
	// which one suffices. Gemini checks arguments itself and has its own words.
	want []string
	// fields are further words for clients that show the structured form, in which
	// they stand beside the fields that every client sees.
	fields []string
	// lines is a page of the manual, each line of which the model has to receive,
	// exactly once.
	lines string
}

// askNames are the names under which the tool that asks a person is served: its own,
// and those for clients that hide a tool of that name.
var askNames = []string{"ask_person", "ask_user"}

// Words that several cases want.
const (
	noTask    = "00000000-0000-4000-8000-000000000000"
	assumes   = "Do not assume an answer"
	byNine    = "High water at nine."
	turns     = "The tide turns at nine."
	callAgain = "await_answer"
)

// receptions is every call, in the order in which the model makes them.
var receptions = []reception{
	{tool: "search_docs", shows: "hits", args: `{"query":"how a chunk id is made","limit":3}`, want: []string{"reference/chunk-ids.md#", "Chunk ids", "lines"}},
	{tool: "search_docs", shows: "no hits", args: `{"query":"zzqqxv"}`, want: []string{"0 results found"}},
	{tool: "search_docs", shows: "error", args: `{"query":"index","limit":0}`, want: []string{"limit must be between 1 and 50 | limit must be >= 1"}},
	{tool: "get_doc", shows: "chunk", args: `{"chunk_id":"reference/chunk-ids.md#chunk-ids/duplicates"}`,
		want: []string{"reference/chunk-ids.md#chunk-ids/duplicates", "If another heading already has that id, deskhand uses the next number.", "setup-2-2", "the later section's id changes"}},
	{tool: "get_doc", shows: "page", args: `{"chunk_id":"reference/chunk-ids.md"}`, lines: "reference/chunk-ids.md",
		want: []string{"reference/chunk-ids.md#chunk-ids/slugs", "reference/chunk-ids.md#chunk-ids/old-ids"}},
	{tool: "get_doc", shows: "unknown id", args: `{"chunk_id":"nowhere.md"}`, want: []string{"Chunk ID 'nowhere.md' not found", "Use search_docs to discover valid chunk IDs"}},
	{tool: "list_docs", shows: "folders", args: `{}`, want: []string{"reference", "troubleshooting", "How deskhand works"}},
	{tool: "list_docs", shows: "error", args: `{"folder":"nowhere"}`, want: []string{"Folder 'nowhere' not found", "Call list_docs without folder"}},

	{tool: "list_questions", shows: "none", args: `{}`, want: []string{`You have no open questions | "questions":[]`}},
	{tool: "ask_user", shows: "answered", args: `{"title":"Paint","questions":[{"id":"colour","question":"Which colour?","type":"select","options":["red","blue"]}]}`,
		question: "Which colour?", person: []string{"answer", "colour=blue"}, want: []string{`"answered":true`, `"questionId":"colour","values":["blue"]`}, fields: []string{`"request_id":"elc_`, `"outcome":"accept"`}},
	{tool: "ask_user", shows: "answered, note", args: `{"questions":[{"id":"deploy","question":"Deploy now?","type":"confirm"}]}`,
		question: "Deploy now?", person: []string{"answer", "deploy=yes", "--note", "but only after 18:00"}, want: []string{`"values":["yes"]`, "but only after 18:00"}, fields: []string{`"outcome":"accept"`, `"note":"but only after 18:00"`}},
	{tool: "ask_user", shows: "declined, note", args: `{"questions":[{"id":"drop","question":"Drop the old table?","type":"confirm"}]}`,
		question: "Drop the old table?", person: []string{"decline", "--note", "Vera owns that table"}, want: []string{`"answered":false`, "declined", "Vera owns that table", assumes}, fields: []string{`"request_id":"elc_`, `"outcome":"decline"`, `"note":"Vera owns that table"`, `"hint":"`}},
	{tool: "ask_user", shows: "timeout", args: `{"timeout":10000,"questions":[{"id":"berth","question":"Which berth?"}]}`, keep: map[string]string{"berth": "elc_"},
		want: []string{`"timedOut":true`, "elc_", "No answer before the deadline", callAgain, assumes}, fields: []string{`"request_id":"{berth}"`, `"outcome":"timeout"`, `"hint":"`}},
	{tool: "list_questions", shows: "expired", args: `{}`, want: []string{"{berth}", "Which berth?", "expired"}},
	{tool: "await_answer", shows: "expired", args: `{"request_id":"{berth}","timeout":0}`, want: []string{`"answered":false`, "{berth}", "stays open", callAgain, assumes}, fields: []string{`"outcome":"timeout"`}},
	{tool: "await_answer", shows: "pending", args: `{"request_id":"{quay}","timeout":0}`, before: []string{"ask", "Which quay?", "--detach"}, keep: map[string]string{"quay": "elc_"},
		want: []string{`"answered":false`, "{quay}", "No answer yet", callAgain, assumes}, fields: []string{`"request_id":"{quay}"`, `"outcome":"pending"`, `"hint":"`}},
	{tool: "await_answer", shows: "late answer", args: `{"request_id":"{berth}"}`, before: []string{"ask", "answer", "{berth}", "berth=berth seven"},
		want: []string{`"answered":true`, "berth seven"}, fields: []string{`"request_id":"{berth}"`, `"outcome":"accept"`}},
	{tool: "await_answer", shows: "unknown id", args: `{"request_id":"elc_nobody"}`, want: []string{"elc_nobody", "call list_questions to list the open questions"}},
	{tool: "ask_user", shows: "validation error", args: `{"questions":[]}`, want: []string{"Validation error: questions array must have at least 1 item | questions must NOT have fewer than 1 items"}},
	{tool: "ci_ask_user", shows: "unreachable", args: `{"questions":[{"id":"there","question":"Is anybody there?"}]}`, want: []string{`"answered":false`, "No person can be reached", assumes}, fields: []string{`"outcome":"unreachable"`, `"hint":"`}},

	{tool: "weather_forecast", shows: "upstream", args: `{}`, want: []string{"Rain from noon, says the station.", "Take an umbrella."}},
	{tool: "weather_forecast", shows: "upstream error", args: `{"day":"never"}`, want: []string{"There is no such day.", "Ask for today."}},

	{tool: "list_projects", shows: "one", args: `{}`, keep: map[string]string{"project": "project_id"}, want: []string{"harbour", "{project}"}},
	{tool: "list_repos", shows: "one", args: `{"project_id":"{project}"}`, keep: map[string]string{"repo": "repo_id"}, want: []string{"harbour", "{repo}", "main"}},
	{tool: "list_executors", shows: "all", args: `{}`, want: []string{`"executor":"fake"`}},
	{tool: "create_task", shows: "made", args: `{"project_id":"{project}","title":"Write the tide table","description":"` + byNine + `"}`, keep: map[string]string{"task": "task_id"}, want: []string{"{task}"}},
	{tool: "create_task", shows: "error", args: `{"project_id":"` + noTask + `","title":"Lost"}`, want: []string{"there is no project " + noTask, "list_projects and pass"}},
	{tool: "list_tasks", shows: "one", args: `{"project_id":"{project}"}`, want: []string{"{task}", "Write the tide table"}},
	{tool: "get_task", shows: "one", args: `{"task_id":"{task}"}`, want: []string{"Write the tide table", byNine}},
	{tool: "get_task", shows: "unknown id", args: `{"task_id":"` + noTask + `"}`, want: []string{"there is no task " + noTask, "list_tasks with the project_id"}},
	{tool: "get_task", shows: "bad id", args: `{"task_id":"nope"}`, want: []string{"task_id must be a UUID, not 'nope' | task_id must match pattern", "list_tasks to get a valid task_id | task_id must match pattern"}},
	{tool: "update_task", shows: "changed", args: `{"task_id":"{task}","title":"Write the tide tables"}`, want: []string{"Write the tide tables"}},
	{tool: "start_task_attempt", shows: "error", args: `{"task_id":"{task}","executor":"nobody","repos":[{"repo_id":"{repo}"}]}`, want: []string{"there is no executor", "list_executors and pass"}},
	{tool: "start_task_attempt", shows: "started", args: `{"task_id":"{task}","executor":"fake","repos":[{"repo_id":"{repo}"}],"prompt":"say ` + turns + `\nwrite tide.md ` + byNine + `"}`,
		keep: map[string]string{"attempt": "attempt_id"}, want: []string{"{attempt}", "workspace_branch"}},
	{tool: "get_attempt_status", shows: "completed", args: `{"attempt_id":"{attempt}"}`, before: []string{"tasks", "show", "{attempt}"}, until: "completed", want: []string{`"state":"completed"`}},
	{tool: "list_task_attempts", shows: "one", args: `{"task_id":"{task}"}`, want: []string{"{attempt}", "fake"}},
	{tool: "tail_attempt_logs", shows: "entries", args: `{"attempt_id":"{attempt}"}`, want: []string{turns}},
	{tool: "tail_session_messages", shows: "a turn", args: `{"attempt_id":"{attempt}"}`, want: []string{`"summary":"` + turns}},
	{tool: "get_attempt_changes", shows: "a file", args: `{"attempt_id":"{attempt}"}`, want: []string{"harbour/tide.md"}},
	{tool: "get_attempt_patch", shows: "a patch", args: `{"attempt_id":"{attempt}","paths":["harbour/tide.md"]}`, want: []string{"+" + byNine}},
	{tool: "get_attempt_patch", shows: "refused", args: `{"attempt_id":"{attempt}","paths":["../etc/passwd"]}`, want: []string{"path_outside_workspace", "pass a path from get_attempt_changes"}},
	{tool: "get_attempt_file", shows: "a file", args: `{"attempt_id":"{attempt}","path":"harbour/tide.md"}`, want: []string{byNine}},
	{tool: "get_attempt_file", shows: "unknown path", args: `{"attempt_id":"{attempt}","path":"harbour/none.md"}`, want: []string{"none.md", "get_attempt_changes"}},
	{tool: "follow_up", shows: "sent", args: `{"action":"send","attempt_id":"{attempt}","prompt":"hang"}`, want: []string{`"status":"started"`}},
	{tool: "stop_attempt", shows: "stopped", args: `{"attempt_id":"{attempt}"}`, want: []string{`"stopped":true`}},
	{tool: "stop_attempt", shows: "unknown id", args: `{"attempt_id":"` + noTask + `"}`, want: []string{noTask, "list_task_attempts with the task_id"}},
	{tool: "delete_task", shows: "deleted", args: `{"task_id":"{task}"}`, want: []string{`"deleted_task_id":"{task}"`}},
	{tool: "ci_get_context", shows: "in an attempt", args: `{}`, want: []string{"Measure the depth", `"project_name":"harbour"`, "workspace_branch"}},
}
