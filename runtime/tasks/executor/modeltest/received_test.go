package modeltest

import "testing"

// A result has the same texts in the JSON of each API.
func TestPlainTakesTheTextsOfAResult(t *testing.T) {
	for name, test := range map[string]struct{ message, want string }{
		"anthropic, text":   {`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"{\"k\":\"v\"}"}]}`, `{"k":"v"}`},
		"anthropic, blocks": {`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}]}`, "one\ntwo"},
		"responses, text":   {`{"type":"function_call_output","call_id":"a","output":"one"}`, "one"},
		"responses, blocks": {`{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"one"},{"type":"input_text","text":"two"}]}`, "one\ntwo"},
		"responses, script": {`{"type":"custom_tool_call_output","call_id":"a","output":[{"type":"input_text","text":"Output:"},{"type":"input_text","text":"{\"content\":[]}"}]}`, "Output:\n{\"content\":[]}"},
		"chat":              {`{"role":"tool","tool_call_id":"a","content":"one"}`, "one"},
		"gemini":            {`{"role":"user","parts":[{"functionResponse":{"name":"t","response":{"output":"one"}}}]}`, "one"},
		"gemini, error":     {`{"role":"user","parts":[{"functionResponse":{"name":"t","response":{"error":"no"}}}]}`, "no"},
		"no JSON":           {"one", "one"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := plain(test.message); got != test.want {
				t.Errorf("plain(%s) = %q, want %q", test.message, got, test.want)
			}
		})
	}
}

// A skipped step and a repeated request do not shift the results of other steps.
func TestReceivedKeepsResultsByStep(t *testing.T) {
	args := func(string, []string) map[string]any { return nil }
	m := New(t, "mark", "done", Step{Tools: []string{"first"}, Args: args}, Step{Tools: []string{"hidden"}, Skip: true, Args: args}, Step{Tools: []string{"third"}, Args: args})
	tools := []string{"mcp__desk__first", "mcp__desk__third"}
	for _, turn := range []struct {
		results []string
		want    string
	}{{nil, tools[0]}, {nil, tools[0]}, {[]string{"one"}, tools[1]}, {[]string{"one", "three"}, ""}} {
		if _, tool := m.begin(turn.results, tools); tool != turn.want {
			t.Errorf("behind %q: %q is called, want %q", turn.results, tool, turn.want)
		}
	}
	if got := m.Received(); len(got) != 3 || got[0] != "one" || got[1] != "" || got[2] != "three" {
		t.Errorf("Received = %q, want one, nothing, three", got)
	}
}
