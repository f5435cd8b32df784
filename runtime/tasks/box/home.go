package box

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Needs lists what a program needs from the user's home. Paths begin with ~ for the
// home folder, or with $NAME for a variable. A path that ends with / is a folder, which
// is created if it is missing.
type Needs struct {
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Copy lists files of which the program gets a copy. The program may change the
	// copy, which is later discarded.
	Copy []string `json:"copy,omitempty"`
	// Hosts lists the hosts that the program itself connects to.
	Hosts []string `json:"hosts,omitempty"`
}

// And returns the union of n and more.
func (n Needs) And(more Needs) Needs {
	return Needs{slices.Concat(n.Read, more.Read), slices.Concat(n.Write, more.Write), slices.Concat(n.Copy, more.Copy), slices.Concat(n.Hosts, more.Hosts)}
}

//go:embed home.json
var home []byte

// Tools lists the programs and caches that every agent can see.
func Tools() (n Needs) {
	if err := json.Unmarshal(home, &n); err != nil {
		panic(err) // a test covers this file
	}
	return n
}

// usual maps variables that name folders to their default values.
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
			os.MkdirAll(at, 0o700) // if this fails, the folder is missing and ignored
		}
		found = append(found, filepath.Clean(at))
	}
	return found
}

// Programs returns the folders in a search path, and those of one program, that are
// inside hidden folders, together with the related folders that their programs need. A
// hidden folder that is itself on the search path stays hidden.
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
		add(program) // the link, which must be visible too
		if root, _, ok := strings.Cut(real, "/node_modules/"); ok {
			add(root + "/node_modules")
		} else {
			add(real)
		}
	}
	return found
}

// prefix returns the folder that a folder of programs belongs to. For PREFIX/bin, that
// is PREFIX if it also has a lib folder and is not a general folder such as ~/.local.
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
