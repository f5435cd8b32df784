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
	Entry        string // name of the entry; empty if Err is set
	Server       Server // command, with the client's folder variables replaced
	Dir          string // folder in which the client starts the server
	Env          []string
	Off          bool  // whether the entry is turned off
	User         bool  // whether the file applies to all projects
	Err          error // a fault if the file cannot be read
	// Unvetted reports whether doctor must not start the server. It is set if
	// the entry is in a file of the project, can do more than an entry written
	// by init, and is not known to be approved by the user. The project's
	// author could make such an entry start any program.
	Unvetted bool
	// Once is the action that a person must take before the client starts the
	// server, if deskhand knows of one. It is empty if no action is needed.
	Once string
}

// Connections returns all deskhand entries in the clients' existing files. It
// also returns the installed clients that have no such entry.
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
					continue // already reported for another client that uses the same file
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

// connections returns the entries in one file.
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

// expand replaces the variables that clients replace themselves.
func (e Env) expand(text string) string {
	return strings.NewReplacer(workspace, e.Project, "${CLAUDE_PROJECT_DIR:-.}", e.Project, "${CLAUDE_PROJECT_DIR}", e.Project, "${userHome}", e.Home).Replace(text)
}

// harmless reports whether a connection starts the deskhand on PATH, serves
// only the project's own docs, and uses no option that needs the user's
// agreement.
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

// inside reports whether path, with symbolic links resolved, is the project's
// folder or is below it.
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

// SignIn returns the file or variable that shows that a person has signed in to
// an executor's agent. It returns "" if nothing shows that. known is false if
// deskhand does not know where the agent stores its sign-in.
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
		return "", false // stored in the system's keychain
	}
	return "", known
}

// signIns lists the files that agents write when a person signs in. It also
// lists the variables that agents accept instead.
var signIns = map[string]struct{ files, variables []string }{
	"claude":   {[]string{".claude/.credentials.json"}, []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"}},
	"codex":    {[]string{".codex/auth.json"}, []string{"OPENAI_API_KEY", "CODEX_API_KEY"}},
	"gemini":   {[]string{".gemini/oauth_creds.json"}, []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS"}},
	"opencode": {[]string{".local/share/opencode/auth.json"}, []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"}},
}
