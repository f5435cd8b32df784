package setup

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
)

// Where agents remember that a person has allowed the servers of a project, as
// seen in the files of the versions that docs/clients.md names.

// settings is a JSON file, or nothing if it cannot be read.
func settings(path string) (all map[string]any) {
	data, err := os.ReadFile(path)
	if err != nil || len(data) > maxFile {
		return nil
	}
	_ = decode(data, &all) // as a file that is not there
	return all
}

// claudeApproved: a person approves a server by name, or all.
func claudeApproved(e Env) bool {
	return claudeApprovedAtHome(e) || approves(settings(filepath.Join(e.Project, ".claude", "settings.local.json")))
}

// claudeApprovedAtHome is claudeApproved by files that no clone brings along.
func claudeApprovedAtHome(e Env) bool {
	dir := e.Getenv("CLAUDE_CONFIG_DIR")
	projects, _ := settings(filepath.Join(cmp.Or(dir, e.Home), ".claude.json"))["projects"].(map[string]any)
	own, _ := projects[e.Project].(map[string]any)
	return approves(own) || approves(settings(filepath.Join(cmp.Or(dir, filepath.Join(e.Home, ".claude")), "settings.json")))
}

func approves(s map[string]any) bool {
	names, _ := s["enabledMcpjsonServers"].([]any)
	return s["enableAllProjectMcpServers"] == true || slices.Contains(names, any(Entry))
}

// codexTrusts: a folder, or the repository that it is in.
func codexTrusts(e Env) bool {
	data, err := os.ReadFile(inHome("CODEX_HOME", ".codex", "config.toml")(e)[0])
	if err != nil {
		return false
	}
	all, err := tomlFile{}.decode(data)
	if err != nil {
		return false
	}
	projects, _ := all["projects"].(map[string]any)
	for dir := e.Project; ; dir = filepath.Dir(dir) {
		if own, _ := projects[dir].(map[string]any); own["trust_level"] == "trusted" {
			return true
		}
		if exists(filepath.Join(dir, ".git")) || dir == filepath.Dir(dir) {
			return false
		}
	}
}

// geminiTrusts: a folder, one above it, or the folder that one lies in.
func geminiTrusts(e Env) bool {
	trusted := settings(filepath.Join(e.Home, ".gemini", "trustedFolders.json"))
	for path, level := range trusted {
		if level == "TRUST_PARENT" {
			path = filepath.Dir(path)
		} else if level != "TRUST_FOLDER" {
			continue
		}
		if rel, err := filepath.Rel(path, e.Project); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	security, _ := settings(filepath.Join(e.Home, ".gemini", "settings.json"))["security"].(map[string]any)
	folders, _ := security["folderTrust"].(map[string]any)
	return folders["enabled"] == false
}
