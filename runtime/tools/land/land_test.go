package land

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/contract/contracttest"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/goldentest"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// all are the tools over a room that has nothing.
func all() []contract.Tool {
	return Tools(Options{Open: func(context.Context) (Manager, error) { return nil, errors.New("closed") }})
}

func TestGoldenSchemas(t *testing.T) { contracttest.GoldenSchemas(t, all()) }

func TestTheListIsThatOfTheHints(t *testing.T) {
	var got []string
	for _, one := range all() {
		got = append(got, one.Name)
		if err := contracttest.Check(one); err != nil {
			t.Error(err)
		}
		if one.Output == nil || one.Title == "" || !one.Envelope || one.ReadOnly {
			t.Errorf("%s lacks an output schema, a title or the envelope, or counts as read-only", one.Name)
		}
		for _, unsaid := range contracttest.Limits(one) {
			t.Errorf("the description does not say %s", unsaid)
		}
	}
	if !slices.Equal(got, work.LandNames) {
		t.Errorf("tools %q, want those that hints know: %q", got, work.LandNames)
	}
}

var headings = regexp.MustCompile(`^Use when: (.+)\nRequired: (.+)\nOptional: (.+)\nNext: (.+)\nAvoid: (.+)$`)

func TestDescriptionsFollowTheTemplateOfWork(t *testing.T) {
	described := len(Instructions(Options{}))
	for _, one := range all() {
		if headings.FindStringSubmatch(one.Description) == nil {
			t.Errorf("%s: %s", one.Name, one.Description)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(one.Input, &s); err != nil {
			t.Fatal(err)
		}
		for name, p := range s.Properties {
			if !strings.HasSuffix(p.Description, ".") {
				t.Errorf("%s.%s: the description is no sentence: %s", one.Name, name, p.Description)
			}
		}
		described += len(one.Name) + len(one.Description) + len(one.Input)
	}
	if described > 9_000 { // some 2,250 tokens
		t.Errorf("what a model reads of the tools is %d bytes", described)
	}
	t.Logf("%d bytes", described)
}

func TestNamesCanHaveAPrefix(t *testing.T) {
	o := Options{Work: work.Options{Prefix: "acme"}}
	for _, one := range Tools(o) {
		if !strings.HasPrefix(one.Name, "acme_") || strings.Contains(one.Description, " get_attempt") {
			t.Errorf("%s: %s", one.Name, one.Description)
		}
	}
	if !strings.Contains(Instructions(o), "acme_land_attempt") {
		t.Error(Instructions(o))
	}
}

const someID = "0197f3a4-5b6c-7d8e-9f00-112233445566"

// right are calls that are right, one of each tool.
var right = map[string]string{
	"land_attempt":      `{"attempt_id":"` + someID + `","how":"squash","message":"m","dry_run":true}`,
	"update_attempt":    `{"attempt_id":"` + someID + `","how":"rebase"}`,
	"discard_attempt":   `{"attempt_id":"` + someID + `"}`,
	"open_pull_request": `{"attempt_id":"` + someID + `","draft":true}`,
	"wait_for_attempts": `{"attempt_ids":["` + someID + `"],"until":"any","timeout":1000}`,
}

// Each typical mistake is understood, or refused in one line that names the field.
func TestMistakesAreUnderstoodOrCorrected(t *testing.T) {
	also := map[string]string{"attempt_id": "id", "attempt_ids": "ids", "how": "method", "message": "commit_message", "timeout": "wait_ms"}
	var b strings.Builder
	for _, tool := range all() {
		mistakes := contracttest.Mistakes(tool, right[tool.Name], also)
		b.WriteString(contracttest.TellMistakes(t, tool, mistakes, func(err error) bool { return err.Error() == "closed" }))
	}
	goldentest.Compare(t, filepath.Join("testdata", "mistakes.golden"), b.String())
}

// room is a room with one attempt, which notes what was done.
type room struct {
	policy tasks.LandingPolicy
	plan   string
	did    []string
	// running is what the attempt does until AwaitEnds is called.
	running bool
}

func (r *room) MayLand(context.Context, string) (tasks.Context, bool, error) {
	if r.policy == tasks.NeverLand {
		return tasks.Context{}, false, fault.New(tasks.LandingForbidden, "agents land nothing of this project", "h")
	}
	c := tasks.Context{Attempt: tasks.Attempt{ID: someID, Branch: "deskhand/x"}, Task: tasks.Task{ID: someID, Title: "Round"}, Project: tasks.Project{Name: "shop"}}
	return c, r.policy != tasks.AllowToLand, nil
}

func (r *room) Land(_ context.Context, q tasks.LandRequest) (tasks.Landed, error) {
	if !q.DryRun {
		r.did = append(r.did, "land "+q.Plan)
	}
	return tasks.Landed{Landing: tasks.Landing{AttemptID: someID}, Branch: "deskhand/x", Plan: r.plan, Message: "Round\n\nDone."}, nil
}

func (r *room) Update(_ context.Context, q tasks.UpdateRequest) (tasks.Landed, error) {
	if !q.DryRun {
		r.did = append(r.did, "update "+q.Plan)
	}
	return tasks.Landed{Landing: tasks.Landing{AttemptID: someID}, Plan: r.plan}, nil
}

func (r *room) Discard(_ context.Context, _ string, dryRun bool) (tasks.Discarded, error) {
	if !dryRun {
		r.did = append(r.did, "discard")
	}
	return tasks.Discarded{AttemptID: someID}, nil
}

func (r *room) OpenPull(_ context.Context, q tasks.PullQuery) (tasks.Pulled, error) {
	if !q.DryRun {
		r.did = append(r.did, "pull "+q.Plan)
	}
	return tasks.Pulled{AttemptID: someID, Plan: r.plan, Requests: []tasks.PullRequest{{Repo: "shop", Remote: "https://example.com/acme/shop"}}}, nil
}

func (r *room) Changes(context.Context, string, bool) (tasks.Changes, error) {
	return tasks.Changes{Count: 3}, nil
}

func (r *room) Status(context.Context, string) (tasks.AttemptStatus, error) {
	if r.running {
		return tasks.AttemptStatus{Attempt: tasks.Attempt{ID: someID}, State: tasks.Running}, nil
	}
	return tasks.AttemptStatus{Attempt: tasks.Attempt{ID: someID}, State: tasks.Completed}, nil
}

func (r *room) AwaitEnds(context.Context, []string, bool) error {
	r.running = false
	return nil
}

// desk is a person who always says the same.
type desk struct {
	verdict ask.Verdict
	asked   []ask.Confirmation
	held    []time.Duration // the longest times of held calls
}

func (d *desk) Confirm(_ context.Context, _ contract.Caller, c ask.Confirmation) (ask.Confirmed, error) {
	d.asked = append(d.asked, c)
	return ask.Confirmed{Verdict: d.verdict, RequestID: "elc_1", Note: "said", Reach: "Answer there"}, nil
}

func (d *desk) Held(ctx context.Context, _ contract.Caller, most time.Duration, _ func() string, wait func(context.Context) error) (bool, error) {
	d.held = append(d.held, most)
	return true, wait(ctx)
}

// Nothing is done without a yes, unless the project says so, and then nobody is
// asked.
func TestAPersonDecides(t *testing.T) {
	does := map[string]string{"land_attempt": "land p", "update_attempt": "update p", "discard_attempt": "discard", "open_pull_request": "pull p"}
	for _, c := range []struct {
		policy  tasks.LandingPolicy
		verdict ask.Verdict
		dry     bool
		status  string
		asked   int
	}{
		{"", ask.Agreed, false, "done", 1},
		{tasks.AskToLand, ask.Refused, false, "refused", 1},
		{"", ask.Waiting, false, "waiting", 1},
		{"", ask.Unreachable, false, "unreachable", 1},
		{"", ask.Agreed, true, "planned", 0},
		{tasks.AllowToLand, ask.Refused, false, "done", 0},
		{tasks.NeverLand, ask.Agreed, false, "", 0},
	} {
		for _, tool := range work.LandNames {
			if does[tool] == "" {
				continue
			}
			r, d := &room{policy: c.policy, plan: "p"}, &desk{verdict: c.verdict}
			tools := Tools(Options{Desk: d, Open: func(context.Context) (Manager, error) { return r, nil }})
			i := slices.IndexFunc(tools, func(one contract.Tool) bool { return one.Name == tool })
			args := `{"attempt_id":"` + someID + `","dry_run":` + map[bool]string{true: "true", false: "false"}[c.dry] + `}`
			got, err := tools[i].Call(t.Context(), contract.Caller{}, json.RawMessage(args))
			if f := fault.Of(err); c.status == "" {
				if f == nil || f.Code != tasks.LandingForbidden || !strings.Contains(f.Hint, tool) || len(r.did)+len(d.asked) > 0 {
					t.Errorf("%s, %+v = %v; did %v", tool, c, err, r.did)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			var out Outcome
			if err := json.Unmarshal(got.Structured.(json.RawMessage), &out); err != nil {
				t.Fatal(err)
			}
			var want []string
			if c.status == "done" {
				want = []string{does[tool]}
			}
			if out.Status != c.status || !slices.Equal(r.did, want) || len(d.asked) != c.asked || (out.Hint == nil) != (c.status == "done") {
				t.Errorf("%s, %+v: %+v; did %v, asked %d times", tool, c, out, r.did, len(d.asked))
			}
			if c.asked > 0 && (d.asked[0].About.AttemptID != "" || !strings.Contains(d.asked[0].Message, "Round") || d.asked[0].Tool != tool) {
				t.Errorf("%s asks %+v", tool, d.asked[0])
			}
		}
	}
}

// Without a timeout, wait_for_attempts waits for the time that its schema tells. It once
// did not wait at all.
func TestWaitingWithoutATimeout(t *testing.T) {
	for args, want := range map[string][]time.Duration{"": {5 * time.Minute}, `,"timeout":1000`: {time.Second}, `,"timeout":0`: nil} {
		d := &desk{}
		tools := Tools(Options{Desk: d, Open: func(context.Context) (Manager, error) { return &room{running: true}, nil }})
		i := slices.IndexFunc(tools, func(one contract.Tool) bool { return one.Name == "wait_for_attempts" })
		if _, err := tools[i].Call(t.Context(), contract.Caller{}, json.RawMessage(`{"attempt_ids":["`+someID+`"]`+args+`}`)); err != nil || !slices.Equal(d.held, want) {
			t.Errorf("wait_for_attempts %s is held %v, %v; want %v", args, d.held, err, want)
		}
	}
}
