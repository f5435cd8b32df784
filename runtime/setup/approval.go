package setup

import (
	"cmp"
	"path/filepath"
	"slices"
)

// The functions below read the files in which agents record that a person has
// allowed a project's servers. The files are those of the versions listed in
// docs/clients.md.

// settings returns the contents of a JSON file, or nil if the file cannot be
// read.
func settings(path string) (all map[string]any) {
	data, _, err := read(path)
	if err != nil {
		return nil
	}
	_ = decode(data, &all) // an invalid file counts as missing
	return all
}

// claudeApproved reports whether the person has approved either this server or
// all servers.
func claudeApproved(e Env) bool {
	return claudeApprovedAtHome(e) || approves(settings(filepath.Join(e.Project, ".claude", "settings.local.json")))
}

// claudeApprovedAtHome is like claudeApproved, but ignores files that may come
// with a clone.
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

// codexTrusts reports whether the user trusts the folder or its repository.
func codexTrusts(e Env) bool {
	data, _, err := read(inHome("CODEX_HOME", ".codex", "config.toml")(e)[0])
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

// geminiTrusts reports whether the user trusts the folder or one of its
// parents, or has turned folder trust off.
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
