package executor

import (
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/deskhand/deskhand/runtime/usage"
)

// A session's counter continues when codex resumes it, so a run gets the difference.
func TestCodexCountsOverTheSession(t *testing.T) {
	talk := &talk{log: &memory{}, session: func(string) {}, used: usage.Tokens{In: 240, Out: 40, CacheRead: 100}, model: "gpt-5-codex"}
	talk.line(&codexEvents{}, []byte(`{"type":"turn.completed","usage":{"input_tokens":360,"cached_input_tokens":150,"output_tokens":60}}`))
	want := usage.Model{Name: "gpt-5-codex", Tokens: usage.Tokens{In: 120, Out: 20, CacheRead: 50}}
	if got := talk.result.Usage; len(got.Models) != 1 || got.Models[0] != want || got.Coverage != usage.Full {
		t.Errorf("usage = %+v, want %+v", got, want)
	}
}

// A run that is killed has the calls that it reported before.
func TestClaudeReportsEachCall(t *testing.T) {
	var told []usage.Report
	talk := &talk{log: &memory{}, session: func(string) {}, tools: map[string]*tool{}, report: func(r usage.Report) { told = append(told, r) }}
	m := &claudeEvents{}
	call := func(id, more string) {
		talk.line(m, []byte(`{"type":"assistant","message":{"id":"`+id+`","model":"m","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":5,"output_tokens":1}}`+more+`}`))
	}
	call("a", "")
	call("a", `,"uuid":"the same call again"`)
	call("b", "")
	if len(told) != 2 {
		t.Fatalf("%d reports, want one for each call: %+v", len(told), told)
	}
	want := usage.Tokens{In: 230, Out: 2, CacheRead: 200, CacheWrite: 10}
	if last := told[1]; last.Tokens() != want || last.Coverage != usage.Part || last.MainModel() != "m" {
		t.Errorf("report = %+v, want %+v in part", last, want)
	}
	talk.line(m, []byte(`{"type":"result","total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":20,"outputTokens":70,"cacheReadInputTokens":200,"cacheCreationInputTokens":10},"small":{"inputTokens":3,"outputTokens":1}}}`))
	got := talk.result.Usage
	if want := (usage.Tokens{In: 233, Out: 71, CacheRead: 200, CacheWrite: 10}); got.Tokens() != want || got.Cost != 500_000 || got.Coverage != usage.Full || len(got.Models) != 2 {
		t.Errorf("at the end: %+v, want %+v", got, want)
	}
}

func TestAResumedClaudeReportsOnlyItsOwnRun(t *testing.T) {
	talk := &talk{log: &memory{}, session: func(string) {}, tools: map[string]*tool{}, report: func(usage.Report) {}}
	m := &claudeEvents{}
	talk.line(m, []byte(`{"type":"result","total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":960,"outputTokens":160,"costUSD":0.5}},"model_usage_since_last_result":{"m":{"inputTokens":480,"outputTokens":80,"costUSD":0.25}}}`))
	if got, want := talk.result.Usage, (usage.Tokens{In: 480, Out: 80}); got.Tokens() != want || got.Cost != 250_000 {
		t.Errorf("usage = %+v, want %+v for 0.25 dollars", got, want)
	}
}

func TestWhetherTheCacheIsPartOfTheInput(t *testing.T) {
	read, thought := 100, 7
	for name, c := range map[string]struct {
		u    acp.Usage
		want usage.Tokens
	}{
		"apart":         {acp.Usage{InputTokens: 10, OutputTokens: 5, CachedReadTokens: &read, TotalTokens: 115}, usage.Tokens{In: 110, Out: 5, CacheRead: 100}},
		"part of it":    {acp.Usage{InputTokens: 110, OutputTokens: 5, CachedReadTokens: &read, TotalTokens: 115}, usage.Tokens{In: 110, Out: 5, CacheRead: 100}},
		"with thoughts": {acp.Usage{InputTokens: 10, OutputTokens: 5, ThoughtTokens: &thought, TotalTokens: 22}, usage.Tokens{In: 10, Out: 12}},
	} {
		if got := acpTokens(c.u); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestTheModelOfACommandLine(t *testing.T) {
	for want, args := range map[string][]string{
		"opus":    {"claude", "-p", "--model", "opus"},
		"flash":   {"gemini", "-m", "flash"},
		"gpt-5":   {"codex", "-c", `model="gpt-5"`},
		"o3":      {"x", "--model=o3"},
		"":        {"codex", "-c", `model_reasoning_effort="high"`, "-m"},
		"from -c": {"codex", "model=no", "-c", "model=from -c"},
	} {
		if got := modelIn(args); got != want {
			t.Errorf("modelIn(%q) = %q, want %q", args, got, want)
		}
	}
}
