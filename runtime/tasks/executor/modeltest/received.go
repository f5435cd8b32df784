package modeltest

import (
	"encoding/json"
	"slices"
	"strings"
)

// Received returns what the model was told of each step: the texts of the tool
// result as the client words them, a line between. A step that has not been
// called, or whose result has not come, has an empty one.
func (m *Model) Received() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.received)
}

// begin finds the step behind as many results and notes that it is the one whose
// result comes next. It returns -1 if no step is left.
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

// offered is the first name of names, or with an end of names, that is on offer.
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

// shown are the keys under which the four APIs have what a model reads of a tool
// result; what is nested below them is searched too.
var shown = []string{"content", "text", "output", "error", "functionResponse", "response", "parts"}

// plain takes the texts out of a message with a tool result.
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
