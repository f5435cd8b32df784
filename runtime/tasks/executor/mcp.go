package executor

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// mcpWays maps a stream's event format to a function. The function tells the
// program how to reach deskhand's tools. It puts the token in a private folder
// or in the environment, and never in the worktree or on the command line.
var mcpWays = map[string]func(*launch) error{
	"claude":   mcpClaude,
	"codex":    mcpCodex,
	"gemini":   mcpGemini,
	"opencode": mcpOpencode,
}

// private writes a settings file to the private folder and returns its path.
func (l *launch) private(name string, v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	if l.temp == "" {
		if l.temp, err = privateFolder(l.spec.ID); err != nil {
			return "", fmt.Errorf("create a folder for an agent's settings: %w", err)
		}
	}
	path := filepath.Join(l.temp, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", fmt.Errorf("write an agent's settings: %w", err)
	}
	return path, nil
}

// privateFolder creates a folder in the user's cache, because gemini reads no
// settings below a folder to which others can write. If there is no cache, it
// uses the temporary folder.
func privateFolder(run string) (string, error) {
	if run == "" {
		run = rand.Text()
	}
	if dir := cached(run); dir != "" && os.MkdirAll(filepath.Dir(dir), 0o700) == nil && os.Mkdir(dir, 0o700) == nil {
		return dir, nil
	}
	return os.MkdirTemp("", "deskhand-agent-")
}

// cached returns the path of a run's settings folder, or "" if the user has no
// cache.
func cached(run string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "deskhand", "agent-"+run)
}

// Forget removes a run's settings, which contain the token. It is for a run
// whose runner was killed before it could remove them. run is [Spec.ID]. If
// there are no settings, Forget returns nil.
func Forget(run string) error {
	dir := cached(run)
	if dir == "" || run == "" {
		return nil
	}
	return os.RemoveAll(dir)
}

type object = map[string]any

func (l *launch) bearer() object { return object{"Authorization": "Bearer " + l.spec.MCP.Token} }

func mcpClaude(l *launch) error {
	// With alwaysLoad, newer versions list the tools at the start, instead of hiding them
	// behind a search.
	path, err := l.private("mcp.json", object{"mcpServers": object{"deskhand": object{"type": "http", "url": l.spec.MCP.URL, "headers": l.bearer(), "alwaysLoad": true}}})
	l.insert([]string{"--mcp-config", path, "--strict-mcp-config", "--allowedTools", "mcp__deskhand"})
	return err
}

func mcpCodex(l *launch) error {
	const table = "mcp_servers.deskhand."
	l.env = append(l.env, "DESKHAND_MCP_TOKEN="+l.spec.MCP.Token)
	// Insert after "exec", where a resumed run accepts options too.
	at := min(2, len(l.args))
	more := []string{
		"-c", table + "url=" + strconv.Quote(l.spec.MCP.URL), "-c", table + `bearer_token_env_var="DESKHAND_MCP_TOKEN"`,
		"-c", table + `default_tools_approval_mode="approve"`, "-c", table + "tool_timeout_sec=600",
	}
	l.args = append(append(append([]string{}, l.args[:at]...), more...), l.args[at:]...)
	return nil
}

func mcpGemini(l *launch) error {
	path, err := l.private("settings.json", object{"mcpServers": object{"deskhand": object{
		"httpUrl": l.spec.MCP.URL, "headers": l.bearer(), "trust": true, "timeout": 600_000,
	}}})
	l.env = append(l.env, "GEMINI_CLI_SYSTEM_SETTINGS_PATH="+path)
	return err
}

func mcpOpencode(l *launch) error {
	data, err := json.Marshal(object{"mcp": object{"deskhand": object{
		"type": "remote", "url": l.spec.MCP.URL, "headers": l.bearer(), "enabled": true, "timeout": 600_000,
	}}})
	l.env = append(l.env, "OPENCODE_CONFIG_CONTENT="+string(data))
	return err
}
