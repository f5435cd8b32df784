package setup

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Connection is a client's entry that starts deskhand's server.
type Connection struct {
	Client, Name string
	Path         string // the file's path, for people
	Entry        string // name of the entry; empty with Err
	Server       Server // with the client's folder variables replaced
	Dir          string // the folder in which the client starts it
	Env          []string
	Off          bool  // the entry is switched off
	User         bool  // the file applies to all projects
	Err          error // a fault if the file cannot be read
	// Unvetted reports that doctor must not start the entry. It is in a file of the
	// project, it can do more than an entry written by init, and no approval by the user
	// is known. The project's author could make it start any program.
	Unvetted bool
	// Once is what a person must do before the client starts the server, if that is
	// known. It is empty if nothing is needed.
	Once string
}

// Connections returns all deskhand entries in the clients' existing files, and the
// installed clients without an entry.
func (e Env) Connections() (list []Connection, without []Client) {
	p := &Plan{env: e}
	shared := map[string]bool{}
	for _, c := range clients {
		n := len(list)
		for _, at := range []*place{c.project, c.user} {
			if at == nil || at == c.project && c.ID == "copilot" && !e.has(c) {
				continue
			}
			path := at.path(e)
			found := p.connections(c, at, path)
			for _, one := range found {
				if one.Err != nil && shared[path] {
					continue // already reported for the other client that uses the file
				}
				list = append(list, one)
			}
			shared[path] = shared[path] || len(found) > 0
		}
		if len(list) == n && e.has(c) {
			without = append(without, c)
		}
	}
	return list, without
}

// connections returns the entries of one file.
func (p *Plan) connections(c Client, at *place, path string) (list []Connection) {
	one := Connection{Client: c.ID, Name: c.Name, Path: p.shown(path), Dir: p.env.Project, User: at == c.user}
	inside := p.env.Project
	if one.User {
		inside = ""
	}
	_, data, _, err := load(path, inside)
	if err == nil {
		var all map[string]any
		if all, err = at.edit.entries(data); err != nil {
			err = p.located(path, err)
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			server, ok := ours(all[name])
			if !ok {
				continue
			}
			entry := all[name].(map[string]any)
			if one.Once = ""; c.approved != nil && (!one.User || c.ID == "gemini") && !c.approved(p.env) {
				one.Once = c.Once
			}
			one.Entry, one.Server, one.Env, one.Off = name, p.env.expanded(server), environment(entry), off(entry)
			if dir, ok := entry["cwd"].(string); ok && dir != "" {
				one.Dir = p.env.expand(dir)
			}
			approved := one.User || c.surely != nil && c.surely(p.env)
			one.Unvetted = !approved && !p.env.harmless(one)
			list = append(list, one)
		}
	}
	if err != nil {
		one.Err = err
		return []Connection{one}
	}
	return list
}

func (e Env) expanded(s Server) Server {
	out := Server{e.expand(s.Command), make([]string, len(s.Args))}
	for i, arg := range s.Args {
		out.Args[i] = e.expand(arg)
	}
	return out
}

// expand replaces the variables that clients replace.
func (e Env) expand(text string) string {
	return strings.NewReplacer(workspace, e.Project, "${CLAUDE_PROJECT_DIR:-.}", e.Project, "${CLAUDE_PROJECT_DIR}", e.Project, "${userHome}", e.Home).Replace(text)
}

// harmless reports whether a connection starts the deskhand on PATH and only serves docs
// of the project, without any option that needs the user's agreement.
func (e Env) harmless(c Connection) bool {
	if c.Server.Command != "deskhand" || len(c.Env) > 0 || len(c.Server.Args) == 0 || c.Server.Args[0] != "serve" || !e.inside(c.Dir) {
		return false
	}
	dir := c.Dir
	for args := c.Server.Args[1:]; len(args) > 0; args = args[2:] {
		if len(args) == 1 {
			return false
		}
		switch value := args[1]; args[0] {
		case "--directory":
			dir = within(dir, value)
		case "--watch", "--index":
			if !e.inside(within(dir, value)) {
				return false
			}
		case "--tools", "--tool-prefix", "--name":
		default:
			return false
		}
	}
	return e.inside(dir)
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// inside reports whether a path, with symbolic links resolved, is the
// project or below it.
func (e Env) inside(path string) bool {
	root, err := filepath.EvalSymlinks(e.Project)
	real, realErr := resolve(path)
	if err != nil || realErr != nil {
		return false
	}
	rel, err := filepath.Rel(root, real)
	return err == nil && filepath.IsLocal(rel)
}

// environment returns the variables that an entry sets, as NAME=value.
func environment(entry map[string]any) (list []string) {
	for _, key := range []string{"env", "environment", "envs"} {
		values, _ := entry[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if text, ok := values[name].(string); ok {
				list = append(list, name+"="+text)
			}
		}
	}
	return list
}

func off(entry map[string]any) bool { return entry["enabled"] == false || entry["disabled"] == true }

// Command returns the program and its arguments.
func (c Connection) Command() []string { return append([]string{c.Server.Command}, c.Server.Args...) }

// SignIn returns the file or variable that shows that a person has signed in to an
// executor's agent, or "" if there is no sign of it. known is false if deskhand does not
// know where the agent stores this.
func (e Env) SignIn(executor string) (where string, known bool) {
	agent, _, _ := strings.Cut(executor, "-")
	signs, known := signIns[agent]
	for _, name := range signs.variables {
		if e.Getenv(name) != "" {
			return name, true
		}
	}
	for _, path := range signs.files {
		if at := home(path)(e)[0]; exists(at) {
			return "~/" + path, true
		}
	}
	if e.OS == "darwin" && agent == "claude" {
		return "", false // stored in the keychain
	}
	return "", known
}

// signIns lists the files that agents write when a person signs in, and the variables
// that they accept instead.
var signIns = map[string]struct{ files, variables []string }{
	"claude":   {[]string{".claude/.credentials.json"}, []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"}},
	"codex":    {[]string{".codex/auth.json"}, []string{"OPENAI_API_KEY", "CODEX_API_KEY"}},
	"gemini":   {[]string{".gemini/oauth_creds.json"}, []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"}},
	"opencode": {[]string{".local/share/opencode/auth.json"}, []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"}},
}
