package setup

import (
	"path/filepath"
	"strings"
	"testing"
)

// A clone's files may name any program: of those that nobody approved, only what
// init writes counts as harmless.
func TestEntriesOfAProjectAreVetted(t *testing.T) {
	for entry, unvetted := range map[string]bool{
		`{"command": "deskhand", "args": ["serve", "--watch", "docs"]}`:                                      false,
		`{"command": "deskhand", "args": ["serve", "--directory", "${workspaceFolder}", "--watch", "docs"]}`: false,
		`{"command": "deskhand", "args": ["serve", "--tools", "ask,work"]}`:                                  false,
		`{"command": "deskhand", "args": ["serve"]}`:                                                         false,
		`{"command": "./deskhand", "args": ["serve"]}`:                                                       true,
		`{"command": "/tmp/deskhand", "args": ["serve"]}`:                                                    true,
		`{"command": "deskhand", "args": ["serve", "--config", "evil.yaml"]}`:                                true,
		`{"command": "deskhand", "args": ["--config", "evil.yaml", "serve"]}`:                                true,
		`{"command": "deskhand", "args": ["serve", "--watch", "../home"]}`:                                   true,
		`{"command": "deskhand", "args": ["serve", "--watch", "out"]}`:                                       true,
		`{"command": "deskhand", "args": ["serve", "--index", "/etc"]}`:                                      true,
		`{"command": "deskhand", "args": ["serve", "--directory", ".."]}`:                                    true,
		`{"command": "deskhand", "args": ["serve", "--http"]}`:                                               true,
		`{"command": "deskhand", "args": ["serve"], "env": {"PATH": "."}}`:                                   true,
		`{"command": "deskhand", "args": ["serve"], "cwd": "/"}`:                                             true,
	} {
		e, _ := world(t)
		put(t, filepath.Join(e.Project, "docs", "a.md"), "# A\n")
		link(t, e.Home, filepath.Join(e.Project, "out"))
		put(t, filepath.Join(e.Project, ".cursor", "mcp.json"), `{"mcpServers": {"x": `+entry+`, "other": {"command": "evil"}}}`)
		list, _ := e.Connections()
		if len(list) != 1 || list[0].Entry != "x" || list[0].Unvetted != unvetted {
			t.Errorf("%s gives %+v, want one connection with Unvetted %v", entry, list, unvetted)
		}
	}
}

func TestConnectionsOfEachClient(t *testing.T) {
	for _, user := range []bool{false, true} {
		e, r := world(t)
		put(t, filepath.Join(e.Project, "docs", "a.md"), "# A\n")
		p, err := New(e, r, everything(user))
		apply(t, p, err)
		list, without := e.Connections()
		found := map[string]Connection{}
		for _, c := range list {
			found[c.Client] = c
		}
		for _, c := range clients {
			got, ok := found[c.ID]
			if want := user || c.project != nil && c.ID != "copilot"; ok != want { // whose file is Claude Code's
				t.Errorf("user=%v: %s is connected: %v, want %v; without: %v", user, c.ID, ok, want, without)
			}
			if command := strings.Join(got.Command(), " "); ok && (got.Err != nil || got.Unvetted || strings.Contains(command, "${") || !strings.HasSuffix(command, "--watch docs")) {
				t.Errorf("user=%v: %s is %+v", user, c.ID, got)
			}
		}
	}
}

// What agents keep of a person's approval, as their own programs write it.
func TestApprovalsAreKnown(t *testing.T) {
	for id, file := range map[string][2]string{
		"claude": {"home/.claude.json", `{"projects": {"PROJECT": {"enabledMcpjsonServers": ["deskhand"]}}}`},
		"codex":  {"home/.codex/config.toml", "[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n"},
		"gemini": {"home/.gemini/trustedFolders.json", `{"ROOT": "TRUST_FOLDER"}`},
	} {
		e, _ := world(t)
		list, err := Named([]string{id})
		if err != nil || list[0].approved(e) {
			t.Fatalf("%s: approved by nobody, %v", id, err)
		}
		root := filepath.Dir(e.Project)
		put(t, filepath.Join(root, filepath.FromSlash(file[0])), strings.NewReplacer("PROJECT", e.Project, "ROOT", root).Replace(file[1]))
		if !list[0].approved(e) {
			t.Errorf("%s: %s does not count", id, file[1])
		}
	}
}

func TestSignInIsSeen(t *testing.T) {
	e, _ := world(t)
	if where, known := e.SignIn("codex-stream"); where != "" || !known {
		t.Errorf("codex without a sign-in: %q, %v", where, known)
	}
	put(t, filepath.Join(e.Home, ".codex", "auth.json"), "{}")
	if where, _ := e.SignIn("codex-stream"); where != "~/.codex/auth.json" {
		t.Errorf("codex: %q", where)
	}
	if _, known := e.SignIn("mine"); known {
		t.Error("an agent that nobody knows is known")
	}
}
