package box

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Needs lists the files and hosts that a program needs. Paths are in the user's
// home. They begin with ~ for the home folder, or with $NAME for the folder
// that the variable NAME contains. A path that ends with / is a folder; if it
// is missing, it is created.
type Needs struct {
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Copy lists files that the program gets as copies. The program may change
	// a copy, which is discarded later.
	Copy []string `json:"copy,omitempty"`
	// Hosts lists the hosts that the program itself connects to.
	Hosts []string `json:"hosts,omitempty"`
}

// And returns the union of two sets of needs.
func (n Needs) And(more Needs) Needs {
	return Needs{slices.Concat(n.Read, more.Read), slices.Concat(n.Write, more.Write), slices.Concat(n.Copy, more.Copy), slices.Concat(n.Hosts, more.Hosts)}
}

//go:embed home.json
var home []byte

// Tools returns the programs and caches that are visible to every agent.
func Tools() (n Needs) {
	if err := json.Unmarshal(home, &n); err != nil {
		panic(err) // cannot happen: a test covers this file
	}
	return n
}

// GitSettings returns the user's settings of git. They are all that an image needs
// in addition to its own tools.
func GitSettings() Needs {
	return Needs{Read: []string{"~/.gitconfig", "$XDG_CONFIG_HOME/git/config", "$XDG_CONFIG_HOME/git/ignore", "$XDG_CONFIG_HOME/git/attributes"}}
}

// usual maps variables that contain a folder's path to their default values.
var usual = map[string]string{
	"XDG_CONFIG_HOME": "~/.config", "XDG_CACHE_HOME": "~/.cache", "XDG_DATA_HOME": "~/.local/share", "XDG_STATE_HOME": "~/.local/state",
	"CARGO_HOME": "~/.cargo", "RUSTUP_HOME": "~/.rustup", "GOPATH": "~/go", "CLAUDE_CONFIG_DIR": "~/.claude", "CODEX_HOME": "~/.codex",
}

// Expand replaces variables in paths with their values from env. It drops paths whose
// variable has no value, and creates the folders that end with /.
func Expand(paths []string, home string, env func(name string) string) (found []string) {
	for _, p := range paths {
		at := p
		if rest, ok := strings.CutPrefix(at, "$"); ok {
			name, below, _ := strings.Cut(rest, "/")
			value := env(name)
			if value == "" {
				value = usual[name]
			}
			if value == "" {
				continue
			}
			at = value
			if below != "" {
				at = strings.TrimSuffix(value, "/") + "/" + below
			}
		}
		if rest, ok := strings.CutPrefix(at, "~"); ok {
			at = home + rest
		}
		if !filepath.IsAbs(at) {
			continue
		}
		if strings.HasSuffix(p, "/") {
			os.MkdirAll(at, 0o700) // if this fails, the folder stays missing and is ignored
		}
		found = append(found, filepath.Clean(at))
	}
	return found
}

// Programs returns folders in a search path that are inside hidden folders. It
// does the same for the folder of one program. It also returns the related
// folders that the programs need. If a hidden folder is itself on the search
// path, it stays hidden.
func Programs(path, program string, hidden []string) (found []string) {
	var real []string
	for _, h := range hidden {
		if h, err := filepath.EvalSymlinks(h); err == nil {
			real = append(real, h)
		}
	}
	add := func(dir string) {
		if at, err := filepath.EvalSymlinks(dir); err != nil || slices.Contains(real, at) {
			return
		}
		for _, h := range hidden {
			if rel, err := filepath.Rel(h, dir); err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, "../") {
				found = append(found, dir)
				return
			}
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(dir) {
			add(dir)
			add(prefix(real))
		}
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		add(program) // the link itself, which must be visible too
		if root, _, ok := strings.Cut(real, "/node_modules/"); ok {
			add(root + "/node_modules")
		} else {
			add(real)
		}
	}
	return found
}

// prefix returns the folder to which a folder of programs belongs. For
// PREFIX/bin, it returns PREFIX, if PREFIX also has a lib folder and is not a
// general folder such as ~/.local.
func prefix(dir string) string {
	up := filepath.Dir(dir)
	switch filepath.Base(dir) {
	case ".bin":
		return up
	case "bin":
		if base := filepath.Base(up); base != ".local" && base != ".cargo" && isFolder(filepath.Join(up, "lib")) {
			return up
		}
	}
	return dir
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
