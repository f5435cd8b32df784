package attempts

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/tasks"
)

// An agent that is installed runs, in whichever of its two ways is possible here.
func TestAnExecutorThatCannotBeStartedHasATwin(t *testing.T) {
	all := []tasks.Executor{
		{ID: "claude", Missing: "claude-agent-acp is not on the path; npm install -g it"}, {ID: "claude-stream"},
		{ID: "codex", Missing: "codex-acp is not on the path"}, {ID: "codex-stream", Missing: "codex is not on the path"},
		{ID: "gemini"}, {ID: "gemini-stream", Missing: "gemini is old"},
		{ID: "own", Missing: "own is not on the path"},
	}
	for _, c := range []struct{ named, id, why string }{
		{"claude", "claude-stream", "executor claude cannot be started: claude-agent-acp is not on the path"},
		{"claude-stream", "claude-stream", ""},
		{"codex", "codex", ""}, // the fault says what to install
		{"gemini", "gemini", ""},
		{"gemini-stream", "gemini", "executor gemini-stream cannot be started: gemini is old"},
		{"own", "own", ""},
		{"unheard-of", "unheard-of", ""},
	} {
		if id, why := instead(all, c.named); id != c.id || why != c.why {
			t.Errorf("instead of %s: %q, %q; want %q, %q", c.named, id, why, c.id, c.why)
		}
	}
}
