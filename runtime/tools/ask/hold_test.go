package ask

import (
	"context"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// Each call ends before the client gives it up: the table is what was measured,
// less a minute at least.
func TestACallIsHeldAsLongAsItsClientWaits(t *testing.T) {
	told := func(context.Context, contract.Progress) {}
	for name, c := range map[string]struct {
		caller contract.Caller
		hold   time.Duration // of the options
		want   time.Duration
	}{
		"Codex ends at 300 s whatever it is told":        {contract.Caller{Name: "codex-mcp-client", Progress: told}, 0, 240 * time.Second},
		"Gemini ends at 600 s whatever it is told":       {contract.Caller{Name: "gemini-cli-mcp-client", Progress: told}, 0, 540 * time.Second},
		"Claude Code stays for 31 minutes":               {contract.Caller{Name: "claude-code", Progress: told}, 0, 30 * time.Minute},
		"OpenCode stays for 31 minutes":                  {contract.Caller{Name: "opencode", Progress: told}, 0, 30 * time.Minute},
		"OpenCode ends at 60 s without progress":         {contract.Caller{Name: "opencode"}, 0, 50 * time.Second},
		"Claude Code without progress":                   {contract.Caller{Name: "claude-code"}, 0, 50 * time.Second},
		"an unknown client, also with progress":          {contract.Caller{Name: "x", Progress: told}, 0, 50 * time.Second},
		"an unknown client without progress":             {contract.Caller{Name: "x"}, 0, 50 * time.Second},
		"an unknown client that has shown that it waits": {contract.Caller{Name: "x", Progress: told, Waits: true}, 0, 0},
		"Codex, which once took a long call":             {contract.Caller{Name: "codex-mcp-client", Progress: told, Waits: true}, 0, 240 * time.Second},
		"the settings say otherwise":                     {contract.Caller{Name: "claude-code", Progress: told}, time.Minute, time.Minute},
	} {
		if got := New(Options{Hold: c.hold}).limit(c.caller); got != c.want {
			t.Errorf("%s: held for %v, want %v", name, got, c.want)
		}
	}
}

func TestFoldersOfOneProjectAreNear(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"/src/shop", "/src/shop", true}, {"/src/shop", "/src/shop/api", true}, {"/src/shop/api", "/src/shop", true},
		{"/src/shop", "/src/shopping", false}, {"/src/a", "/src/b", false}, {"", "/src/a", true}, {"/src/a", "", true},
	} {
		if got := near(c.a, c.b); got != c.want {
			t.Errorf("near(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// Whoever answers may be on another machine than the server.
func TestACallNamesThePublicAddress(t *testing.T) {
	human := personAt(t, t.TempDir())
	_, _, detach, err := human.hub.Attach(t.Context(), elicit.Station{Kind: "web", Address: "http://127.0.0.1:1", Public: "https://desk.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	defer detach()
	if got, want := New(Options{}).where(t.Context(), human.hub), "Answer at https://desk.example.org"; got != want {
		t.Errorf("where = %q, want %q", got, want)
	}
}
