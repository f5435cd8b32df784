package setup

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Entry is the name under which clients know the server.
const Entry = "deskhand"

// Env describes where to look for clients and their files.
type Env struct {
	Project string // absolute folder
	Home    string // the user's home folder
	Config  string // $XDG_CONFIG_HOME, or its default below Home
	AppData string // %APPDATA%; empty except on Windows
	OS      string // a value of runtime.GOOS
	Getenv  func(string) string
	// Look returns the path of a program, which it searches for on PATH.
	Look func(program string) (string, error)
}

// Client is a coding agent, or an editor with an agent. It can be configured
// with MCP servers.
type Client struct {
	ID, Name string
	aliases  []string
	programs []string             // if any of these is on PATH, the client is installed
	marks    func(e Env) []string // if any of these folders exists, the client is installed
	project  *place               // nil if the client has no file in a project
	user     *place
	// Once is the action that a person must take before the client starts a
	// project's server. It is empty if no action is needed.
	Once string
	// approved reports whether the person has taken the action in Once. surely
	// reports the same, but reads only files that no other person can have
	// written. Both are nil if deskhand cannot find out.
	approved, surely func(e Env) bool
}

// place is a configuration file of a client.
type place struct {
	// paths returns the possible paths of the file. The first path that exists
	// is used. If none exists, the first path is used.
	paths func(e Env) []string
	edit  editor
	entry func(Server) []field
	// folder is the client's variable for the project's folder. If it is empty,
	// the client starts servers in that folder.
	folder string
}

func fixed(path string) func(Env) []string {
	return func(e Env) []string { return []string{filepath.Join(e.Project, filepath.FromSlash(path))} }
}

func home(path string) func(Env) []string {
	return func(e Env) []string { return []string{filepath.Join(e.Home, filepath.FromSlash(path))} }
}

// inHome returns path in the folder that variable contains. If the variable is
// not set, it returns path in folder, which is relative to the user's home.
func inHome(variable, folder, path string) func(Env) []string {
	return func(e Env) []string {
		return []string{filepath.Join(cmp.Or(e.Getenv(variable), filepath.Join(e.Home, folder)), path)}
	}
}

// appFolder returns the folder for an application's files, as Electron
// determines it.
func (e Env) appFolder(name string) string {
	switch e.OS {
	case "darwin":
		return filepath.Join(e.Home, "Library", "Application Support", name)
	case "windows":
		return filepath.Join(e.AppData, name)
	}
	return filepath.Join(e.Config, name)
}

// The functions below return entries in the formats that the clients document.

// bare returns {"command": "...", "args": [...]}, for Gemini CLI, Windsurf, Claude
// Desktop and Junie.
func bare(s Server) []field { return []field{{"command", s.Command}, {"args", s.Args}} }

// typed returns an entry with the type stdio, for Claude Code and Copilot CLI in
// .mcp.json, Cursor and VS Code.
func typed(s Server) []field { return append([]field{{"type", "stdio"}}, bare(s)...) }

// clients lists the clients in display order. The values come from each
// client's documentation:
//
//   - Claude Code: code.claude.com/docs/en/mcp. A project's .mcp.json is used once the
//     user has approved it. Servers start in claude's working directory.
//   - Codex: developers.openai.com/codex/config-reference. A project's
//     .codex/config.toml is used if the folder is trusted.
//   - Gemini CLI: geminicli.com/docs/tools/mcp-server.
//   - Cursor: cursor.com/docs/context/mcp, with ${workspaceFolder} in args. The page
//     does not say in which folder Cursor starts servers.
//   - VS Code: code.visualstudio.com/docs/copilot/reference/mcp-configuration,
//     with ${workspaceFolder}.
//   - Windsurf: docs.windsurf.com/windsurf/cascade/mcp. It has no file in a
//     project.
//   - Zed: zed.dev/docs/ai/mcp. Its settings may have comments.
//   - opencode: opencode.ai/docs/mcp-servers; opencode.json or opencode.jsonc.
//   - Copilot CLI: docs.github.com, "Adding MCP servers for GitHub Copilot CLI".
//     In a project, it reads the same .mcp.json as Claude Code.
//   - Goose: block.github.io/goose/docs/guides/config-files.
//   - Cline: docs.cline.bot/getting-started/config. Older versions keep the file in
//     VS Code's storage.
//   - Claude Desktop: modelcontextprotocol.io/docs/develop/connect-local-servers.
//   - JetBrains: Junie, junie.jetbrains.com/docs/junie-cli-mcp-configuration.html.
var clients = []Client{
	{
		ID: "claude", Name: "Claude Code", aliases: []string{"claude-code"}, programs: []string{"claude"}, marks: home(".claude"),
		project: &place{paths: fixed(".mcp.json"), edit: jsonFile{group: "mcpServers"}, entry: typed},
		user: &place{paths: func(e Env) []string {
			return []string{filepath.Join(cmp.Or(e.Getenv("CLAUDE_CONFIG_DIR"), e.Home), ".claude.json")}
		}, edit: jsonFile{group: "mcpServers"}, entry: typed},
		Once:     "start claude in the project and approve the server deskhand",
		approved: claudeApproved, surely: claudeApprovedAtHome,
	},
	{
		ID: "codex", Name: "Codex", programs: []string{"codex"}, marks: home(".codex"),
		project:  &place{paths: fixed(".codex/config.toml"), edit: tomlFile{"mcp_servers"}, entry: bare},
		user:     &place{paths: inHome("CODEX_HOME", ".codex", "config.toml"), edit: tomlFile{"mcp_servers"}, entry: bare},
		Once:     "start codex in the project and trust the folder",
		approved: codexTrusts, surely: codexTrusts,
	},
	{
		ID: "gemini", Name: "Gemini CLI", aliases: []string{"gemini-cli"}, programs: []string{"gemini"}, marks: home(".gemini"),
		project:  &place{paths: fixed(".gemini/settings.json"), edit: jsonFile{group: "mcpServers"}, entry: bare},
		user:     &place{paths: home(".gemini/settings.json"), edit: jsonFile{group: "mcpServers"}, entry: bare},
		Once:     "start gemini in the project and trust the folder",
		approved: geminiTrusts, surely: geminiTrusts,
	},
	{
		ID: "cursor", Name: "Cursor", programs: []string{"cursor", "cursor-agent"}, marks: home(".cursor"),
		project: &place{paths: fixed(".cursor/mcp.json"), edit: jsonFile{group: "mcpServers"}, entry: typed, folder: workspace},
		user:    &place{paths: home(".cursor/mcp.json"), edit: jsonFile{group: "mcpServers"}, entry: typed},
		Once:    "switch deskhand on in Cursor's settings, under MCP",
	},
	{
		ID: "vscode", Name: "VS Code", aliases: []string{"vs-code", "code"}, programs: []string{"code"},
		marks:   func(e Env) []string { return []string{e.appFolder("Code")} },
		project: &place{paths: fixed(".vscode/mcp.json"), edit: jsonFile{group: "servers"}, entry: typed, folder: workspace},
		user: &place{paths: func(e Env) []string { return []string{filepath.Join(e.appFolder("Code"), "User", "mcp.json")} },
			edit: jsonFile{group: "servers"}, entry: typed},
		Once: "confirm in VS Code that you trust the deskhand server",
	},
	{
		ID: "windsurf", Name: "Windsurf", programs: []string{"windsurf"}, marks: home(".codeium/windsurf"),
		user: &place{paths: home(".codeium/windsurf/mcp_config.json"), edit: jsonFile{group: "mcpServers"}, entry: bare},
	},
	{
		ID: "zed", Name: "Zed", programs: []string{"zed", "zeditor"},
		marks:   func(e Env) []string { return []string{zedFolder(e)} },
		project: &place{paths: fixed(".zed/settings.json"), edit: jsonFile{group: "context_servers"}, entry: zedEntry},
		user: &place{paths: func(e Env) []string { return []string{filepath.Join(zedFolder(e), "settings.json")} },
			edit: jsonFile{group: "context_servers"}, entry: zedEntry},
		Once: "confirm in Zed that you trust the project",
	},
	{
		ID: "opencode", Name: "opencode", programs: []string{"opencode"},
		marks: func(e Env) []string { return []string{filepath.Join(e.Config, "opencode")} },
		project: &place{paths: func(e Env) []string {
			return []string{filepath.Join(e.Project, "opencode.json"), filepath.Join(e.Project, "opencode.jsonc")}
		}, edit: opencodeFile, entry: opencodeEntry},
		user: &place{paths: func(e Env) []string {
			dir := filepath.Join(e.Config, "opencode")
			return []string{filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc")}
		}, edit: opencodeFile, entry: opencodeEntry},
	},
	{
		ID: "copilot", Name: "Copilot CLI", aliases: []string{"copilot-cli"}, programs: []string{"copilot"}, marks: home(".copilot"),
		project: &place{paths: fixed(".mcp.json"), edit: jsonFile{group: "mcpServers"}, entry: typed},
		user:    &place{paths: inHome("COPILOT_HOME", ".copilot", "mcp-config.json"), edit: jsonFile{group: "mcpServers"}, entry: copilotEntry},
	},
	{
		ID: "goose", Name: "Goose", programs: []string{"goose"}, marks: func(e Env) []string { return []string{gooseFolder(e)} },
		user: &place{paths: func(e Env) []string { return []string{filepath.Join(gooseFolder(e), "config.yaml")} },
			edit: yamlFile{"extensions"}, entry: gooseEntry},
	},
	{
		ID: "cline", Name: "Cline", programs: []string{"cline"}, marks: clineFolders,
		user: &place{paths: func(e Env) (all []string) {
			for _, dir := range clineFolders(e) {
				all = append(all, filepath.Join(dir, "cline_mcp_settings.json"))
			}
			return all
		}, edit: jsonFile{group: "mcpServers"}, entry: clineEntry},
	},
	{
		ID: "claude-desktop", Name: "Claude Desktop", marks: func(e Env) []string { return []string{e.appFolder("Claude")} },
		user: &place{paths: func(e Env) []string {
			return []string{filepath.Join(e.appFolder("Claude"), "claude_desktop_config.json")}
		}, edit: jsonFile{group: "mcpServers"}, entry: bare},
	},
	{
		ID: "jetbrains", Name: "JetBrains Junie", aliases: []string{"junie"}, programs: []string{"junie"}, marks: home(".junie"),
		project: &place{paths: fixed(".junie/mcp/mcp.json"), edit: jsonFile{group: "mcpServers"}, entry: bare},
		user:    &place{paths: home(".junie/mcp/mcp.json"), edit: jsonFile{group: "mcpServers"}, entry: bare},
	},
}

// workspace is the variable that Cursor and VS Code replace with the project's folder.
const workspace = "${workspaceFolder}"

func zedFolder(e Env) string {
	if e.OS == "windows" {
		return filepath.Join(e.AppData, "Zed")
	}
	return filepath.Join(e.Config, "zed")
}

// zedEntry returns an entry for Zed. Versions until 2025 require the field
// source; later versions ignore it.
func zedEntry(s Server) []field {
	return append(append([]field{{"source", "custom"}}, bare(s)...), field{"env", []field{}})
}

// opencodeFile is the format of opencode's file. It includes the schema,
// because opencode would add the schema to a file without it.
var opencodeFile = jsonFile{group: "mcp", schema: "https://opencode.ai/config.json"}

func opencodeEntry(s Server) []field {
	return []field{{"type", "local"}, {"command", append([]string{s.Command}, s.Args...)}, {"enabled", true}}
}

func copilotEntry(s Server) []field {
	return append(append([]field{{"type", "local"}}, bare(s)...), field{"tools", []string{"*"}})
}

func gooseFolder(e Env) string {
	if e.OS == "windows" {
		return filepath.Join(e.AppData, "Block", "goose", "config")
	}
	return filepath.Join(e.Config, "goose")
}

func gooseEntry(s Server) []field {
	return []field{{"name", Entry}, {"description", "This project's docs, questions and tasks"}, {"type", "stdio"}, {"enabled", true},
		{"cmd", s.Command}, {"args", s.Args}, {"timeout", 300}}
}

func clineFolders(e Env) []string {
	return []string{
		filepath.Join(e.Home, ".cline", "data", "settings"),
		filepath.Join(e.appFolder("Code"), "User", "globalStorage", "saoudrizwan.claude-dev", "settings"),
	}
}

func clineEntry(s Server) []field { return append(bare(s), field{"disabled", false}) }

// IDs returns the IDs of all clients, in table order.
func IDs() (ids []string) {
	for _, c := range clients {
		ids = append(ids, c.ID)
	}
	return ids
}

// Named returns the clients with the given IDs or names, in table order. It returns
// the fault "misuse" if there is no such client.
func Named(names []string) (list []Client, err error) {
	wanted := map[string]bool{}
	for _, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		i := slices.IndexFunc(clients, func(c Client) bool {
			return c.ID == name || strings.ToLower(c.Name) == name || slices.Contains(c.aliases, name)
		})
		if i < 0 {
			return nil, fault.New("misuse", "there is no client "+name, "use one of "+strings.Join(IDs(), ", "))
		}
		wanted[clients[i].ID] = true
	}
	for _, c := range clients {
		if wanted[c.ID] {
			list = append(list, c)
		}
	}
	return list, nil
}

// Found returns the clients that are installed, and those for which the project
// has a file.
func (e Env) Found() (list []Client) {
	for _, c := range clients {
		if e.has(c) {
			list = append(list, c)
		}
	}
	return list
}

func (e Env) has(c Client) bool {
	for _, program := range c.programs {
		if _, err := e.Look(program); err == nil {
			return true
		}
	}
	for _, mark := range c.marks(e) {
		if isFolder(mark) {
			return true
		}
	}
	if c.project == nil || c.ID == "copilot" { // Copilot uses Claude Code's file
		return false
	}
	for _, path := range c.project.paths(e) {
		if dir := filepath.Dir(path); exists(path) || dir != e.Project && isFolder(dir) {
			return true
		}
	}
	return false
}

// path returns the path of the place's file: the file that exists, or else the
// file to create.
func (p *place) path(e Env) string {
	paths := p.paths(e)
	for _, path := range paths {
		if exists(path) {
			return path
		}
	}
	for _, path := range paths {
		if isFolder(filepath.Dir(path)) {
			return path
		}
	}
	return paths[0]
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
