package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Server is an MCP server that a client starts and uses over stdio.
type Server struct {
	Name    string
	Command []string
	Env     map[string]string
}

// Connect adds servers to the configuration of every client in home, a folder
// that Home has created. The servers are trusted, so that no call waits for
// approval.
func Connect(t testing.TB, home string, servers ...Server) {
	t.Helper()
	claude, gemini, opencode, codex := object{}, object{}, object{}, ""
	for _, s := range servers {
		program, args := s.Command[0], s.Command[1:]
		claude[s.Name] = object{"command": program, "args": args, "env": s.Env}
		gemini[s.Name] = object{"command": program, "args": args, "env": s.Env, "trust": true}
		opencode[s.Name] = object{"type": "local", "command": s.Command, "environment": s.Env, "enabled": true}
		codex += fmt.Sprintf("[mcp_servers.%s]\ncommand = %s\nargs = %s\n", s.Name, text(program), text(args)) // a JSON string is also a TOML string
		codex += fmt.Sprintf("[mcp_servers.%s.env]\n", s.Name)
		for name, value := range s.Env {
			codex += name + " = " + text(value) + "\n"
		}
	}
	put(t, filepath.Join(home, "mcp.json"), text(object{"mcpServers": claude}))
	merge(t, filepath.Join(home, ".gemini", "settings.json"), object{
		"mcpServers": gemini,
		// A stub does not route requests or detect loops. The client would
		// retry such requests for 90 seconds.
		"model": object{"name": "stub-model", "disableLoopDetection": true, "skipNextSpeakerCheck": true},
	})
	merge(t, filepath.Join(home, "opencode.json"), object{"mcp": opencode, "snapshot": false})
	file := filepath.Join(home, ".codex", "config.toml")
	config, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, string(config)+codex)
}

// Headless returns a command that makes the given client run the prompt unattended. home
// must have been configured by Connect. If ctx ends, the command is stopped. An unknown
// client fails the test.
func Headless(ctx context.Context, t testing.TB, client, bin, home, prompt string, servers ...Server) *exec.Cmd {
	t.Helper()
	var args []string
	switch client {
	case "claude":
		args = []string{"-p", prompt, "--mcp-config", filepath.Join(home, "mcp.json"), "--strict-mcp-config", "--allowedTools"}
		for _, s := range servers {
			args = append(args, "mcp__"+s.Name)
		}
	case "codex", "codex-code":
		args = []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt}
		if client == "codex-code" { // with a model that calls tools from scripts
			args = append(args, "-c", `model="gpt-6-sol"`)
		}
	case "gemini":
		args = []string{"--skip-trust", "--yolo", "-p", prompt}
	case "opencode":
		args = []string{"run", prompt}
	default:
		t.Fatalf("there is no client %q", client)
	}
	program, err := filepath.Abs(Program(bin, client))
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, program, args...)
}

// Program returns the path of client's program in the folder bin.
func Program(bin, client string) string {
	name, _, _ := strings.Cut(client, "-")
	return filepath.Join(bin, name)
}

func put(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// merge adds keys to a JSON object in a file.
func merge(t testing.TB, file string, keys object) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := object{}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	for key, value := range keys {
		all[key] = value
	}
	put(t, file, text(all))
}
