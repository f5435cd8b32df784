//go:build unix && agents

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/doctor"
	"github.com/deskhand/deskhand/runtime/tasks/executor/modeltest"
)

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// approvals is what each agent writes when a person approves the project's server
// in it, as file below the home and text.
var approvals = map[string][2]string{
	"claude": {".claude.json", `{"projects": {"%s": {"hasTrustDialogAccepted": true, "enabledMcpjsonServers": ["deskhand"]}}}`},
	"codex":  {".codex/config.toml", "[projects.%q]\ntrust_level = \"trusted\"\n"},
	"gemini": {".gemini/trustedFolders.json", `{"%s": "TRUST_FOLDER"}`},
}

// What init writes is what the real programs read: each lists the server, and
// those that start it connect. doctor says the same, and of a project that nobody
// has approved yet what to do.
func TestRealAgentsListTheServerOfInit(t *testing.T) {
	ids, bin := modeltest.Chosen(t, "claude codex gemini opencode")
	for _, id := range ids {
		for _, user := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,user=%v", id, user), func(t *testing.T) {
				if _, err := os.Stat(filepath.Join(bin, id)); err != nil {
					t.Skipf("NOT TESTED: %v", err)
				}
				home, project := t.TempDir(), filepath.Join(t.TempDir(), "shop")
				write(t, project, map[string]string{"docs/index.md": "# Shop\n\nHow to pay.\n"})
				for _, setting := range modeltest.Settings(home, "http://127.0.0.1:9") {
					name, value, _ := strings.Cut(setting, "=")
					t.Setenv(name, value)
				}
				t.Setenv("OPENCODE_CONFIG", "")
				t.Setenv("PATH", os.Getenv("PATH")+string(os.PathListSeparator)+bin)
				args := []string{"init", "--yes", "--client", id}
				if user {
					args = append(args, "--user")
				}
				done(t, project, args...)
				approval, needed := approvals[id]
				if needed && (!user || id == "gemini") {
					if c := checkOf(t, project, id); c.Status != doctor.Warning || !strings.Contains(c.Detail, "not approved") || c.Next == "" {
						t.Errorf("before anybody approved, doctor says %+v", c)
					}
					write(t, home, map[string]string{approval[0]: fmt.Sprintf(approval[1], project)})
				}
				if c := checkOf(t, project, id); c.Status != doctor.OK || !strings.Contains(c.Detail, "search_docs") {
					t.Errorf("doctor says %+v", c)
				}
				want := regexp.MustCompile(map[string]string{
					"claude": `deskhand: .*deskhand serve .*Connected`, "codex": `deskhand .*serve .*enabled`,
					"gemini": `✓ deskhand: .*Connected`, "opencode": `(?s)✓ +deskhand +connected`,
				}[id])
				if said := mcpList(t, project, bin, id); !want.MatchString(said) {
					t.Errorf("%s mcp list says\n%s\nwant %s", id, said, want)
				}
				done(t, project, "init", "--remove", "--yes")
				if said := mcpList(t, project, bin, id); strings.Contains(said, "deskhand") {
					t.Errorf("after init --remove %s mcp list says\n%s", id, said)
				}
			})
		}
	}
}

// mcpList is what an agent's mcp list prints.
func mcpList(t *testing.T, project, bin, id string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, id), "mcp", "list")
	cmd.Dir = project
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s mcp list: %v\n%s", id, err, out)
	}
	return colours.ReplaceAllString(string(out), "")
}

// checkOf is what doctor says of a client.
func checkOf(t *testing.T, project, id string) doctor.Check {
	t.Helper()
	name := map[string]string{"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "opencode": "opencode"}[id]
	var got doctorAnswer
	if err := json.Unmarshal([]byte(done(t, project, "doctor", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(got.Checks, func(c doctor.Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("doctor does not speak of %s: %+v", name, got.Checks)
	}
	return got.Checks[i]
}
