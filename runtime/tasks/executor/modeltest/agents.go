package modeltest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Chosen returns the agents that AGENTS selects, and the folder with their
// programs, from AGENTS_BIN. If AGENTS is empty, Chosen returns all agents.
func Chosen(t testing.TB, all string) (ids []string, bin string) {
	t.Helper()
	if bin = os.Getenv("AGENTS_BIN"); bin == "" {
		t.Fatal("AGENTS_BIN is not set; run make test-agents, which installs the agents and sets it")
	}
	ids = strings.Fields(all)
	if only := strings.Fields(os.Getenv("AGENTS")); len(only) > 0 {
		ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(only, id) })
	}
	return ids, bin
}

// Home returns a new home folder. Its configuration makes agents use the model
// at url.
func Home(t testing.TB, url string) string {
	t.Helper()
	home := t.TempDir()
	for name, text := range map[string]string{
		".codex/config.toml":    "model = \"stub-model\"\nmodel_provider = \"stub\"\n[model_providers.stub]\nname = \"stub\"\nbase_url = \"" + url + "/v1\"\nwire_api = \"responses\"\nenv_key = \"STUB_KEY\"\n",
		".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`,
		"opencode.json":         `{"provider":{"stub":{"npm":"@ai-sdk/openai-compatible","name":"stub","options":{"baseURL":"` + url + `/v1","apiKey":"x"},"models":{"stub-model":{"name":"stub","tool_call":true}}}},"model":"stub/stub-model","autoupdate":false}`,
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// Settings returns the additional variables that agents need, as NAME=value.
func Settings(home, url string) []string {
	return []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_STATE_HOME=" + home,
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=x", "ANTHROPIC_MODEL=stub-model", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"STUB_KEY=x", "OPENAI_API_KEY=x", "OPENCODE_CONFIG=" + filepath.Join(home, "opencode.json"), "GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL=" + url,
	}
}

// WriteTools lists the names of agents' tools that can write a file.
var WriteTools = []string{"Write", "write_file", "write", "exec_command", "shell", "shell_command"}

// Write returns the arguments that make a tool write text to colour.txt.
func Write(tool, text string) map[string]any {
	switch tool {
	case "exec_command":
		return map[string]any{"cmd": fmt.Sprintf("printf %q > colour.txt", strings.TrimSuffix(text, "\n")+`\n`)}
	case "shell", "shell_command":
		return map[string]any{"command": []string{"bash", "-lc", "echo " + strings.TrimSpace(text) + " > colour.txt"}}
	case "write":
		return map[string]any{"filePath": "colour.txt", "content": text}
	}
	return map[string]any{"file_path": "colour.txt", "content": text}
}
