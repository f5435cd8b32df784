package executor

import (
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/deskhand/deskhand/runtime/usage"
)

// What agents report of their tokens, as measured with a scripted model:
//
//	claude           every run, when it ends: tokens and cost
//	claude-stream    each model call, then the exact numbers and cost at the end
//	codex            nothing
//	codex-stream     tokens when a run ends, counted over the whole session
//	gemini           tokens when a run ends, by model
//	gemini-stream    the same
//	opencode         the tokens of the last model call
//	opencode-stream  tokens and cost of each model call
//
// In a run that is stopped before it ends, agents that report at the end report nothing.

// usage records what the agent has consumed so far in this run.
func (t *talk) usage(r usage.Report) {
	r = r.Bounded()
	t.result.Usage = r
	if t.report != nil {
		t.report(r)
	}
}

// modelIn returns the model that a command line selects with -m or --model, or "".
func modelIn(args []string) string {
	for i, a := range args {
		if name, ok := strings.CutPrefix(a, "--model="); ok {
			return name
		}
		if (a == "-m" || a == "--model") && i+1 < len(args) {
			return args[i+1]
		}
		if name, ok := strings.CutPrefix(a, "model="); ok && i > 0 && args[i-1] == "-c" {
			return strings.Trim(name, `"`)
		}
	}
	return ""
}

// claudeUsage is the usage of a model call or a run in Claude's API. The cache is not
// part of Input, unless Total shows that it is.
type claudeUsage struct {
	Input  int64 `json:"input_tokens"`
	Create int64 `json:"cache_creation_input_tokens"`
	Read   int64 `json:"cache_read_input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
}

func (u claudeUsage) tokens() usage.Tokens {
	t := usage.Tokens{In: u.Input, Out: u.Output, CacheRead: u.Read, CacheWrite: u.Create}
	if u.Total == 0 || u.Total != u.Input+u.Output {
		t.In += u.Create + u.Read
	}
	return t
}

// acpTokens converts the usage of a turn over ACP. The protocol does not say whether the
// cache is part of the input; the total shows it.
func acpTokens(u acp.Usage) usage.Tokens {
	of := func(n *int) int64 {
		if n == nil {
			return 0
		}
		return int64(*n)
	}
	t := usage.Tokens{In: int64(u.InputTokens), Out: int64(u.OutputTokens), CacheRead: of(u.CachedReadTokens), CacheWrite: of(u.CachedWriteTokens)}
	cached, thought, total := t.CacheRead+t.CacheWrite, of(u.ThoughtTokens), int64(u.TotalTokens)
	apart := t.In + t.Out + cached
	if total == apart || total == apart+thought {
		t.In += cached
	}
	if thought > 0 && total == t.In+t.Out+thought {
		t.Out += thought
	}
	return t
}
