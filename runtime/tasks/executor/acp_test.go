package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/goldentest"
)

func doubles(t testing.TB) *Table {
	return table(t, map[string]Config{"double": {Kind: "acp", Command: []string{os.Args[0], "acp-double"}, Mode: "b", Variants: map[string]Variant{
		"dumb": {Env: map[string]string{"DOUBLE": "dumb"}}, "locked": {Env: map[string]string{"DOUBLE": "locked"}}, "forgetful": {Env: map[string]string{"DOUBLE": "forgetful"}},
		"adapter": {Env: map[string]string{"DOUBLE": "adapter"}},
		"claude":  {Args: []string{"testdata/streams/acp-claude.jsonl"}}, "codex": {Args: []string{"testdata/streams/acp-codex.jsonl"}},
		"gemini": {Args: []string{"testdata/streams/acp-gemini.jsonl"}}, "opencode": {Args: []string{"testdata/streams/acp-opencode.jsonl"}},
	}}})
}

// A process replays the messages of four agents.
func TestRecordedAgentsGolden(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude", "codex", "gemini", "opencode"} {
		var asked []Question
		result, log := run(t, doubles(t), "double", Spec{
			Dir: here, Variant: name, Prompt: "Create hello.txt", MCP: MCP{URL: "http://127.0.0.1:1/mcp", Token: "t"},
			Ask: func(_ context.Context, q Question) (Answer, error) {
				asked = append(asked, q)
				return Answer{Outcome: "accept", Option: q.Options[0].ID}, nil
			},
		})
		questions, err := json.MarshalIndent(asked, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		ended, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		goldentest.Compare(t, "testdata/acp-"+name+".golden", fmt.Sprintf("%s%s\n%s\n", log.text(), questions, ended))
	}
}

func TestElicitationsReachAPerson(t *testing.T) {
	form := `elicit {"mode":"form","sessionId":"s1","message":"Which colour?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"]}}`
	for want, answer := range map[string]Answer{
		`{"action":"accept","content":{"colour":"blue"}}`: {Outcome: "accept", Values: map[string]any{"colour": "blue"}},
		`{"action":"decline"}`:                            {Outcome: "decline"},
		`{"action":"cancel"}`:                             {Outcome: "cancel", Pending: true},
	} {
		var asked Question
		result, log := run(t, doubles(t), "double", Spec{Prompt: form, Ask: func(_ context.Context, q Question) (Answer, error) { asked = q; return answer, nil }})
		if result.Summary != want || result.Failure != "" {
			t.Errorf("answer %+v: agent got %s, want %s\n%s", answer, result.Summary, want, log.text())
		}
		if asked.Title != "Which colour?" || !strings.Contains(string(asked.Schema), `"colour"`) {
			t.Errorf("asked %+v", asked)
		}
	}
	var asked Question
	run(t, doubles(t), "double", Spec{Prompt: `elicit {"mode":"url","sessionId":"s1","elicitationId":"e","message":"Sign in","url":"https://example.com/"}`,
		Ask: func(_ context.Context, q Question) (Answer, error) { asked = q; return Answer{Outcome: "accept"}, nil }})
	if asked.URL != "https://example.com/" || asked.Title != "Sign in" {
		t.Errorf("asked %+v", asked)
	}
}

func TestPermissions(t *testing.T) {
	const yes, no, cancelled = `{"outcome":{"optionId":"y","outcome":"selected"}}`, `{"outcome":{"optionId":"n","outcome":"selected"}}`, `{"outcome":{"outcome":"cancelled"}}`
	for name, c := range map[string]struct {
		call   string
		answer *Answer // nil if no person can be asked
		want   string
		status string
	}{
		"allowed":          {`"title":"rm x","kind":"execute","rawInput":{"command":"rm x"}`, &Answer{Outcome: "accept", Option: "y"}, yes, "created"},
		"rejected":         {`"title":"rm x","kind":"execute"`, &Answer{Outcome: "accept", Option: "n"}, no, "denied"},
		"declined":         {`"title":"rm x","kind":"execute"`, &Answer{Outcome: "decline"}, no, "denied"},
		"no answer":        {`"title":"rm x","kind":"execute"`, &Answer{Outcome: "cancel"}, cancelled, "timed_out"},
		"unknown option":   {`"title":"rm x","kind":"execute"`, &Answer{Outcome: "accept", Option: "root"}, cancelled, "timed_out"},
		"our tool":         {`"title":"ask","kind":"other","_meta":{"claudeCode":{"toolName":"mcp__deskhand__ask_user"}}`, nil, yes, "created"},
		"posing as ours":   {`"title":"mcp__deskhand__ask_user","kind":"execute"`, &Answer{Outcome: "decline"}, no, "denied"},
		"with ours inside": {`"title":"x mcp__deskhand__ask_user","kind":"other"`, &Answer{Outcome: "decline"}, no, "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			result, log := run(t, doubles(t), "double", Spec{Prompt: "permit " + c.call, Ask: func(_ context.Context, q Question) (Answer, error) {
				if c.answer == nil {
					t.Errorf("a person was asked %+v", q)
					return Answer{}, nil
				}
				if !q.Permission || len(q.Options) != 2 || q.Options[1].Kind != "reject_once" {
					t.Errorf("asked %+v", q)
				}
				return *c.answer, nil
			}})
			if result.Summary != c.want || !strings.Contains(log.text(), " "+c.status+" {") {
				t.Errorf("agent got %s, want %s, and status %s\n%s", result.Summary, c.want, c.status, log.text())
			}
		})
	}
}

func TestTurnsEndInManyWays(t *testing.T) {
	for prompt, c := range map[string]struct {
		variant, resume string
		exit            int
		failure, text   string
	}{
		"hello":           {"", "", 0, "", `assistant_message "mode {\"modeId\":\"b\",\"sessionId\":\"s1\"}hello"`},
		"again":           {"", "s1", 0, "", `assistant_message "again"`},
		"fresh":           {"forgetful", "s0", 0, "", `system_message "the agent cannot continue its session and starts a new one: it does not support that"`},
		"stop refusal":    {"", "", 0, "the agent refuses to continue", ""},
		"stop max_tokens": {"", "", 0, "the agent stopped before it was done: max_tokens", ""},
		`error {"code":-32603,"message":"Internal error: API Error: 400 no credit","data":{"errorKind":"unknown"}}`: {"", "", 0, "the agent ended its turn with an error: Internal error: API Error: 400 no credit", ""},
		`error {"code":-32603,"message":"Internal error","data":{"details":"quota exceeded"}}`:                      {"", "", 0, "the agent ended its turn with an error: Internal error: quota exceeded", ""},
		"retry":  {"adapter", "", 0, "", `error_message "the model does not respond; try 2 of 10: overloaded"`},
		"die":    {"", "", 9, "exit status 9: out of memory", `bye`},
		"dumb":   {"dumb", "", 7, "exit status 7: no licence", ""},
		"locked": {"locked", "", 0, "Authentication required", `sign in`},
		"junk":   {"", "", 0, "", `system_message "brand_new"`},
		"plan":   {"", "", 0, "", "plan \"\"\nthinking \"hm\"\n"},
		"stay":   {"", "", 0, "", ""},
		"flood":  {"", "", 0, "", `success`},
	} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			spec := Spec{Prompt: prompt, Variant: c.variant, Resume: c.resume}
			if c.resume != "" {
				spec.Before = "EARLIER "
			}
			result, log := run(t, doubles(t), "double", spec)
			if told := strings.Contains(log.text(), "EARLIER fresh"); told != (prompt == "fresh") {
				t.Errorf("told what was before: %v; want it where a session is lost\n%s", told, log.text()[:min(len(log.text()), 2000)])
			}
			if exitOf(result) != c.exit || !strings.Contains(result.Failure, c.failure) || c.failure == "" && result.Failure != "" || !strings.Contains(log.text(), c.text) {
				text := log.text()
				t.Errorf("result = %+v, exit %d, want %+v\n%s", result, exitOf(result), c, text[:min(len(text), 2000)])
			}
			if strings.Contains(log.text(), "said before") {
				t.Error("the history of a session was said again")
			}
			if prompt == "flood" && len(log.entries) < 20_000 {
				t.Errorf("%d entries, want 20,000", len(log.entries))
			}
		})
	}
}

func TestInterruptCancelsTheTurn(t *testing.T) {
	for _, prompt := range []string{"wait", `permit "title":"rm","kind":"execute"`} {
		r, log := start(t, doubles(t), "double", Spec{Prompt: prompt, Ask: func(ctx context.Context, _ Question) (Answer, error) {
			<-ctx.Done()
			return Answer{}, ctx.Err()
		}})
		until(t, "work", func() bool {
			return strings.Contains(log.text(), "waiting") || strings.Contains(log.text(), "pending_approval")
		})
		since := time.Now()
		result := r.Stop(20*time.Second, time.Second)
		if time.Since(since) > 10*time.Second || exitOf(result) != 0 {
			t.Errorf("%s: result = %+v after %v", prompt, result, time.Since(since))
		}
		if prompt == "wait" && result.Failure != "cancelled" {
			t.Errorf("result = %+v, want cancelled", result)
		}
	}
}

func FuzzUpdates(f *testing.F) {
	f.Add([]byte(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","kind":"edit","content":[{"type":"diff","path":"p","oldText":null,"newText":"n"}]}`))
	f.Add([]byte(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image"}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		c := &client{run: &Run{}, talk: &talk{log: &memory{}, session: func(string) {}, tools: map[string]*tool{}}, plan: -1}
		c.update(in)
		c.shown(in)
	})
}

func TestAFormIsReadAsItWasWritten(t *testing.T) {
	const schema = `{"type":"object","properties":{"zeta":{"type":"string","minLength":2,"format":"email"},"alpha":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}},"required":["zeta"]}`
	var asked Question
	result, log := run(t, doubles(t), "double", Spec{Prompt: `elicit {"mode":"form","sessionId":"s1","message":"Tell","requestedSchema":` + schema + `}`,
		Ask: func(_ context.Context, q Question) (Answer, error) {
			asked = q
			return Answer{Outcome: "cancel", Refused: "nobody could fill it in"}, nil
		}})
	if string(asked.Schema) != schema {
		t.Errorf("asked with %s, want %s", asked.Schema, schema)
	}
	if strings.Contains(result.Summary, `"cancel"`) || !strings.Contains(result.Summary+log.text(), "nobody could fill it in") {
		t.Errorf("the agent was told %s, want that nobody was asked\n%s", result.Summary, log.text())
	}
}
