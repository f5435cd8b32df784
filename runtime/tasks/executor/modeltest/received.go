package modeltest

import (
	"encoding/json"
	"slices"
	"strings"
)

// Received returns the text of the tool results that the model received, one
// string per step. The client's pieces of text in a result are joined with
// newlines. The string is empty for a step that was not called or has no result
// yet.
func (m *Model) Received() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.received)
}

// begin returns the next step after the given results, and records that the
// next result belongs to that step. It returns -1 if no step is left.
func (m *Model) begin(results []string, tools []string) (step int, tool string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range min(len(results), len(m.called)) {
		if at := m.called[i]; m.received[at] == "" {
			m.received[at] = plain(results[i])
		}
	}
	if len(m.called) > 0 && len(results) > 0 {
		step = m.called[min(len(results), len(m.called))-1] + 1
	}
	for ; step < len(m.steps); step++ {
		tool = offered(m.steps[step].Tools, tools)
		if tool != "" || !m.steps[step].Skip {
			m.called = append(m.called[:min(len(results), len(m.called))], step)
			return step, tool
		}
	}
	return -1, ""
}

// offered returns the first offered tool whose name is in names or ends with one of
// them, or "".
func offered(names, tools []string) string {
	for _, end := range names {
		for _, name := range tools {
			if name == end || strings.HasSuffix(name, "_"+end) || strings.HasSuffix(name, "."+end) {
				return name
			}
		}
	}
	return ""
}

// shown lists the keys under which the four APIs put the text of a tool result.
// Values nested below these keys are searched too.
var shown = []string{"content", "text", "output", "error", "functionResponse", "response", "parts"}

// plain extracts the text from a message with a tool result.
func plain(message string) string {
	var v any
	if json.Unmarshal([]byte(message), &v) != nil {
		return message
	}
	var texts []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for _, key := range shown {
				if inner, ok := v[key]; ok {
					walk(inner)
				}
			}
		}
	}
	walk(v)
	return strings.Join(texts, "\n")
}
