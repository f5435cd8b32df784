package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/contract/contracttest"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// all are the tools as the agent of an attempt's folder sees them, over a room
// that has nothing.
func all() []contract.Tool {
	return Tools(Options{AttemptID: "a", Open: func(context.Context) (Manager, error) { return nil, errors.New("closed") }})
}

func TestGoldenSchemas(t *testing.T) { contracttest.GoldenSchemas(t, all()) }

// known are the tools with a frozen schema.
var known = contracttest.Frozen("testdata")

func TestEachToolHasAFrozenSchema(t *testing.T) {
	var got []string
	for _, one := range all() {
		got = append(got, one.Name)
	}
	if slices.Sort(got); !slices.Equal(got, known) {
		t.Errorf("tools %q, want those with a schema in testdata, %q: UPDATE=1 writes one, and the file of a tool that is gone goes too", got, known)
	}
	for _, name := range known {
		if !isTool(name) {
			t.Errorf("isTool(%q) = false", name)
		}
	}
	if n := len(Tools(Options{})); n != len(known)-1 {
		t.Errorf("outside of an attempt there are %d tools, want %d", n, len(known)-1)
	}
}

func TestToolReturnsTheToolOfThatName(t *testing.T) {
	for _, d := range definitions() {
		if got := Tool(Options{Prefix: "desk"}, d.name).Name; got != "desk_"+d.name {
			t.Errorf("Tool(%q) is %q", d.name, got)
		}
	}
}

// nodes visits each property of a schema at any depth.
func nodes(s *jsonschema.Schema, at string, visit func(at, name string, s *jsonschema.Schema)) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		visit(at+"."+name, name, s.Properties[name])
		nodes(s.Properties[name], at+"."+name, visit)
	}
	if s.Items != nil {
		nodes(s.Items, at+"[]", visit)
	}
}

func parsed(t *testing.T, raw json.RawMessage) *jsonschema.Schema {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func TestSchemasSayAllThereIsToSay(t *testing.T) {
	for _, one := range all() {
		if err := contracttest.Check(one); err != nil {
			t.Error(err)
		}
		if one.Output == nil || one.Title == "" || !one.Envelope {
			t.Errorf("%s lacks an output schema, a title or the envelope", one.Name)
		}
		if !regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`).MatchString(one.Name) {
			t.Errorf("%s is no snake_case", one.Name)
		}
		for place, raw := range map[string]json.RawMessage{"in": one.Input, "out": one.Output} {
			nodes(parsed(t, raw), one.Name+" "+place, func(at, name string, s *jsonschema.Schema) {
				says := func(what string) {
					if !strings.Contains(s.Description, what) {
						t.Errorf("%s does not say %q: %s", at, what, s.Description)
					}
				}
				switch {
				case s.Description == "":
					t.Errorf("%s has no description", at)
				case strings.HasSuffix(name, "_id"):
					says("UUID")
				case strings.HasSuffix(name, "_at"), strings.HasSuffix(name, "_since"):
					says("RFC3339")
				}
				for _, v := range s.Enum {
					if v != nil {
						says(v.(string))
					}
				}
				if !strings.HasSuffix(s.Description, ".") {
					t.Errorf("%s: the description is no sentence: %s", at, s.Description)
				}
			})
		}
	}
}

var headings = regexp.MustCompile(`^Use when: (.+)\nRequired: (.+)\nOptional: (.+)\nNext: (.+)\nAvoid: (.+)$`)

func TestDescriptionsFollowTheTemplate(t *testing.T) {
	word := regexp.MustCompile(`[a-z]+(?:_[a-z]+)+`)
	for _, one := range all() {
		m := headings.FindStringSubmatch(one.Description)
		if m == nil || len(one.Description) > 1200 {
			t.Errorf("%s: %d characters that do not follow the template:\n%s", one.Name, len(one.Description), one.Description)
			continue
		}
		s := parsed(t, one.Input)
		for _, list := range m[2:4] {
			for name := range strings.SplitSeq(strings.TrimSuffix(list, "."), ", ") {
				if name != "none" && s.Properties[name] == nil {
					t.Errorf("%s: %s is no argument", one.Name, name)
				}
			}
		}
		if next := word.FindString(m[4]); one.Name != "list_repos" && !slices.ContainsFunc(word.FindAllString(m[4], -1), func(w string) bool { return slices.Contains(known, w) }) {
			t.Errorf("%s: Next names no tool: %s", one.Name, next)
		}
	}
}

// The list costs every client of ours its context.
func TestTheListIsShort(t *testing.T) {
	described := 0
	for _, one := range all() {
		described += len(one.Name) + len(one.Description) + len(one.Input)
	}
	if described > 26_000 { // some 6,500 tokens
		t.Errorf("what a model reads of the tools is %d bytes", described)
	}
	t.Logf("%d bytes", described)
}

const (
	someID  = "0197f3a4-5b6c-7d8e-9f00-112233445566"
	otherID = "0197f3a4-5b6c-7d8e-9f00-112233445567"
)

// The schemas that are published and the checks that run agree on each of these,
// and a refusal says what to do.
func TestSchemaAndRuntimeAgree(t *testing.T) {
	tools := map[string]contract.Tool{}
	for _, one := range all() {
		tools[one.Name] = one
	}
	const a, s = `"attempt_id":"` + someID + `"`, `"session_id":"` + otherID + `"`
	for _, c := range []struct {
		tool, args string
		ok         bool
		says       string // in the message or the hint of a refusal
	}{
		{"follow_up", `{` + a + `,"action":"send","prompt":"go on"}`, true, ""},
		{"follow_up", `{` + s + `,"action":"queue","prompt":"go on","variant":"v","request_id":"r"}`, true, ""},
		{"follow_up", `{` + a + `,"action":"cancel"}`, true, ""},
		{"follow_up", `{` + a + `,"action":"send"}`, false, "prompt"},
		{"follow_up", `{` + a + `,"action":"queue"}`, false, "prompt"},
		{"follow_up", `{` + a + `,"action":"send","prompt":""}`, false, "prompt"},
		{"follow_up", `{` + a + `,"action":"send","prompt":"  \n "}`, false, "prompt"},
		{"follow_up", `{` + a + `,"action":"cancel","prompt":"x"}`, false, "prompt"},
		{"follow_up", `{` + a + `,"action":"resume","prompt":"x"}`, false, "send, queue, cancel"},
		{"follow_up", `{` + a + `,"prompt":"x"}`, false, "action"},
		{"follow_up", `{"action":"send","prompt":"x"}`, false, "exactly one target identifier"},
		{"follow_up", `{` + a + `,` + s + `,"action":"send","prompt":"x"}`, false, "exactly one target identifier"},
		{"follow_up", `{"attempt_id":"abc","action":"send","prompt":"x"}`, false, "attempt_id"},
		{"tail_session_messages", `{` + a + `,"cursor":5}`, true, ""},
		{"tail_session_messages", `{}`, false, "exactly one target identifier"},
		{"tail_session_messages", `{` + a + `,` + s + `}`, false, "exactly one target identifier"},
		{"tail_session_messages", `{` + a + `,"cursor":5,"after_entry_index":1}`, false, "only one pagination mode"},
		{"tail_session_messages", `{` + a + `,"limit":1000000000}`, true, ""},
		{"tail_attempt_logs", `{` + a + `}`, true, ""},
		{"tail_attempt_logs", `{` + a + `,"channel":"raw","limit":1000000000}`, true, ""},
		{"tail_attempt_logs", `{` + a + `,"after_entry_index":-1,"wait_ms":30000}`, true, ""},
		{"tail_attempt_logs", `{` + a + `,"after_revision":7,"wait_ms":1}`, true, ""},
		{"tail_attempt_logs", `{` + a + `,"channel":"x"}`, false, "normalized, raw"},
		{"tail_attempt_logs", `{` + a + `,"limit":0}`, false, "limit"},
		{"tail_attempt_logs", `{` + a + `,"limit":-1}`, false, "limit"},
		{"tail_attempt_logs", `{` + a + `,"cursor":"5"}`, false, "cursor"},
		{"tail_attempt_logs", `{` + a + `,"cursor":5,"after_entry_index":1}`, false, "only one pagination mode"},
		{"tail_attempt_logs", `{` + a + `,"cursor":5,"after_revision":1}`, false, "only one pagination mode"},
		{"tail_attempt_logs", `{` + a + `,"after_revision":5,"after_entry_index":1}`, false, "only one pagination mode"},
		{"tail_attempt_logs", `{` + a + `,"wait_ms":5}`, false, "after_entry_index"},
		{"tail_attempt_logs", `{` + a + `,"after_entry_index":1,"wait_ms":30001}`, false, "wait_ms"},
		{"get_attempt_file", `{` + a + `,"path":"r/a.txt","start_line":2,"end_line":3}`, true, ""},
		{"get_attempt_file", `{` + a + `,"path":"r/a.txt","start":2,"max_bytes":3}`, true, ""},
		{"get_attempt_file", `{` + a + `,"path":"r/a.txt","start":2,"start_line":3}`, false, "start_line"},
		{"get_attempt_file", `{` + a + `,"path":"r/a.txt","end_line":3}`, false, "start_line"},
		{"get_attempt_file", `{` + a + `}`, false, "path"},
		{"get_attempt_patch", `{` + a + `,"paths":["r/a.txt"],"force":true}`, true, ""},
		{"get_attempt_patch", `{` + a + `,"paths":[]}`, false, "paths"},
		{"get_attempt_patch", `{` + a + `,"paths":"r/a.txt"}`, false, "paths"},
		{"update_task", `{"task_id":"` + someID + `","status":"done"}`, true, ""},
		{"update_task", `{"task_id":"` + someID + `"}`, false, "title"},
		{"update_task", `{"task_id":"` + someID + `","status":"finished"}`, false, "inreview"},
		{"create_task", `{"project_id":"` + someID + `","title":"t","description":""}`, true, ""},
		{"create_task", `{"project_id":"` + someID + `","title":" "}`, false, "title"},
		{"create_task", `{"project_id":"` + someID + `"}`, false, "title"},
		{"create_task", `{"project_id":"` + someID + `","title":"t","status":"done"}`, false, "status"},
		{"start_task_attempt", `{"task_id":"` + someID + `","executor":"fake","repos":[{"repo_id":"` + otherID + `","target_branch":"main"}]}`, true, ""},
		{"start_task_attempt", `{"task_id":"` + someID + `","executor":"fake","repos":[{"repo_id":"` + otherID + `"}]}`, true, ""},
		{"start_task_attempt", `{"task_id":"` + someID + `","executor":"fake","repos":[]}`, false, "list_repos"},
		{"start_task_attempt", `{"task_id":"` + someID + `","executor":"fake","repos":[{"repo_id":"x"}]}`, false, "list_repos"},
		{"list_tasks", `{"project_id":"` + someID + `","limit":100000}`, true, ""},
		{"list_tasks", `{"project_id":"` + someID + `","status":"open"}`, false, "todo"},
		{"list_tasks", `{}`, false, "list_projects"},
		{"get_attempt_status", `{"attempt_id":"abc"}`, false, "list_task_attempts"},
		{"stop_attempt", `{` + a + `,"force":"yes"}`, false, "force"},
		{"get_context", `{}`, true, ""},
		{"list_projects", `{"limit":0}`, false, "limit"},
	} {
		t.Run(c.tool+" "+c.args, func(t *testing.T) {
			resolved, err := parsed(t, tools[c.tool].Input).Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal([]byte(c.args), &value); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(value); (err == nil) != c.ok {
				t.Errorf("the schema says %v, want valid: %v", err, c.ok)
			}
			_, err = tools[c.tool].Call(t.Context(), contract.Caller{}, json.RawMessage(c.args))
			if c.ok {
				if err == nil || err.Error() != "closed" {
					t.Errorf("the call says %v, want to get as far as the room", err)
				}
				return
			}
			refused(t, err, "invalid_argument", c.says)
		})
	}
}

// refused wants a fault with a hint that names a tool.
func refused(t *testing.T, err error, code, says string) {
	t.Helper()
	f := fault.Of(err)
	if f == nil || f.Code != code || !strings.Contains(f.Message+" "+f.Hint, says) {
		t.Errorf("the call says %s, want code %s and %q", fmt.Sprintf("%+v", f), code, says)
		return
	}
	if !slices.ContainsFunc(known, func(name string) bool { return strings.Contains(f.Hint, name) }) {
		t.Errorf("the hint names no tool: %s", f.Hint)
	}
}

// words are what a text has that may be the name of a tool.
var words = regexp.MustCompile(`\w+`)

// named are the tools that a text names.
func named(text string) []string {
	return slices.DeleteFunc(words.FindAllString(text, -1), func(w string) bool { return !slices.Contains(known, w) })
}

// With a prefix, everything that a model reads has it.
func TestNamesInTextsHaveThePrefix(t *testing.T) {
	tools := Tools(Options{AttemptID: "a", Prefix: "acme", Open: func(context.Context) (Manager, error) {
		return nil, fault.New("not_found", "gone", "name one of list_tasks").WithCase(tasks.WhichTask)
	}})
	for _, one := range tools {
		if !strings.HasPrefix(one.Name, "acme_") {
			t.Errorf("name %s", one.Name)
		}
		for _, name := range named(one.Description + string(one.Input) + string(one.Output)) {
			t.Errorf("%s speaks of %s", one.Name, name)
		}
	}
	for args, want := range map[string]string{
		`{"limit":1}`: "call acme_list_tasks with the project_id and pass a task_id that it returns",
		`{"limit":0}`: "fix limit and call acme_list_projects again",
	} {
		_, err := tools[0].Call(t.Context(), contract.Caller{}, json.RawMessage(args))
		if f := fault.Of(err); f == nil || f.Hint != want {
			t.Errorf("acme_list_projects %s: %+v, want the hint %q", args, f, want)
		}
	}
	blocked := Tools(Options{Prefix: "acme", Open: func(context.Context) (Manager, error) { return closed{}, nil }})
	for name, args := range map[string]string{
		"acme_get_attempt_changes": `{"attempt_id":"` + someID + `"}`,
		"acme_get_attempt_file":    `{"attempt_id":"` + someID + `","path":"r/a"}`,
		"acme_get_attempt_patch":   `{"attempt_id":"` + someID + `","paths":["r/a"]}`,
	} {
		i := slices.IndexFunc(blocked, func(one contract.Tool) bool { return one.Name == name })
		if got, err := blocked[i].Call(t.Context(), contract.Caller{}, json.RawMessage(args)); err != nil || !strings.Contains(got.Text[0], `"hint":"call acme_get_attempt_status; if the worktree was removed, acme_follow_up with`) {
			t.Errorf("%s %s = %v, %v", name, args, got.Text, err)
		}
	}
}

// The agent of an attempt reads of no tool that it does not have.
func TestTheAgentOfAnAttemptIsSentToItsOwnTools(t *testing.T) {
	tools := AttemptTools(Options{AttemptID: "a", Open: func(context.Context) (Manager, error) {
		return nil, fault.New("not_found", "gone", "pass one that exists").WithCase(tasks.WhichProject)
	}})
	for args, want := range map[string]string{
		`{"title":"t"}`: "call get_context to get a valid project_id, then call create_task again",
		`{"title":"t","project_id":"` + someID + `"}`: "call get_context and pass a project_id that it returns",
	} {
		_, err := tools[1].Call(t.Context(), contract.Caller{}, json.RawMessage(args))
		if f := fault.Of(err); f == nil || f.Hint != want {
			t.Errorf("create_task %s: %+v, want the hint %q", args, f, want)
		}
	}
	for _, one := range tools {
		for _, name := range named(one.Description + string(one.Input)) {
			if name != "get_context" && name != "create_task" {
				t.Errorf("%s speaks of %s", one.Name, name)
			}
		}
	}
}

// closed is a room that shows nothing of an attempt.
type closed struct{ Manager }

var blockedAnswer = tasks.Blocked{Reason: "summary_failed"}

func (closed) Changes(context.Context, string, bool) (tasks.Changes, error) {
	return tasks.Changes{Blocked: blockedAnswer}, nil
}

func (closed) File(context.Context, tasks.FileQuery) (tasks.File, error) {
	return tasks.File{Blocked: blockedAnswer}, nil
}

func (closed) Patch(context.Context, tasks.PatchQuery) (tasks.Patch, error) {
	return tasks.Patch{Blocked: blockedAnswer}, nil
}
