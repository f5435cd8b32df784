package deps

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// readGoMod reads the requirements in a go.mod. Since Go 1.17, this file lists all
// modules that a build uses.
func readGoMod(file string, src []byte) ([]Dependency, error) {
	f, err := modfile.Parse(file, src, nil)
	if err != nil {
		return nil, broken(firstLine(err.Error()), 0, "it is not a valid go.mod")
	}
	var list []Dependency
	for _, r := range f.Require {
		d := Dependency{Name: r.Mod.Path, Version: r.Mod.Version, Direct: !r.Indirect}
		for _, by := range f.Replace {
			if by.Old.Path != r.Mod.Path || by.Old.Version != "" && by.Old.Version != r.Mod.Version {
				continue
			}
			if by.New.Version == "" {
				d.Why = refused + "go.mod replaces it with the folder " + printable(by.New.Path) + "; add that folder instead: deskhand add FOLDER"
				continue
			}
			d.module, d.Version = by.New.Path, by.New.Version
		}
		list = append(list, d)
	}
	return list, nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// disk holds the places on this disk where packages may be.
type disk struct {
	ctx   context.Context
	start string // folder where the search for lock files started
	cache string // the module cache, or "?" until it is known
	// python holds the installed distributions by normalised name.
	python     map[string][]distribution
	crates     []string            // folders of unpacked crates
	workspaces map[string][]string // folders of npm workspaces, by the lock file's folder
}

func newDisk(ctx context.Context, start string) *disk {
	return &disk{ctx: ctx, start: start, cache: "?"}
}

// moduleCache returns GOMODCACHE from the environment. If it is not set, moduleCache
// asks the go command, or returns the default if go is not installed.
func (k *disk) moduleCache() string {
	if k.cache == "?" {
		k.cache = findModuleCache(k.ctx)
	}
	return k.cache
}

func findModuleCache(ctx context.Context) string {
	if dir := os.Getenv("GOMODCACHE"); filepath.IsAbs(dir) {
		return dir
	}
	if tool, err := exec.LookPath("go"); err == nil {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, tool, "env", "GOMODCACHE")
		cmd.Dir = os.TempDir() // a folder where no go.mod requests another toolchain
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOWORK=off")
		cmd.WaitDelay = time.Second
		if out, err := cmd.Output(); err == nil && filepath.IsAbs(strings.TrimSpace(string(out))) {
			return strings.TrimSpace(string(out))
		}
	}
	if paths := filepath.SplitList(os.Getenv("GOPATH")); len(paths) > 0 && paths[0] != "" {
		return filepath.Join(paths[0], "pkg", "mod")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, "go", "pkg", "mod")
}

// locateGo searches for d in the module cache and then in vendor.
func locateGo(k *disk, d *Dependency) {
	name := d.Name
	if d.module != "" {
		name = d.module
	}
	dir, err := cachedModule(k.moduleCache(), name, d.Version)
	if err != nil {
		d.Why = printable(err.Error())
		return
	}
	if isFolder(dir) {
		d.Dir = dir
		return
	}
	if v := vendored(d.at, d.Name, d.Version); v != "" {
		d.Dir = v
		return
	}
	d.Why = "it is not in the module cache; run \"go mod download\", or pass --fetch"
}

// cachedModule returns the module's folder in the cache.
func cachedModule(cache, name, version string) (string, error) {
	if err := module.Check(name, version); err != nil {
		return "", err
	}
	p, err := module.EscapePath(name)
	v, err2 := module.EscapeVersion(version)
	if err := errors.Join(err, err2); err != nil {
		return "", err
	}
	if cache == "" {
		return "", errors.New("there is no module cache; set GOMODCACHE")
	}
	return filepath.Join(cache, filepath.FromSlash(p)+"@"+v), nil
}

// vendored returns the module's folder in vendor. It returns "" if
// vendor/modules.txt does not list that version.
func vendored(root, name, version string) string {
	src, err := readFile(filepath.Join(root, "vendor", "modules.txt"), maxLock)
	if err != nil || !slices.Contains(strings.Split(strings.ReplaceAll(string(src), "\r", ""), "\n"), "# "+name+" "+version) {
		return ""
	}
	dir := filepath.Join(root, "vendor", filepath.FromSlash(name))
	if !isFolder(dir) || !within(root, dir) {
		return ""
	}
	return dir
}

// isFolder reports whether dir is a real folder, not a link to one.
func isFolder(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir()
}

// within reports whether dir is inside root after all links are resolved.
func within(root, dir string) bool {
	r, err := filepath.EvalSymlinks(root)
	d, err2 := filepath.EvalSymlinks(dir)
	if err != nil || err2 != nil {
		return false
	}
	rel, err := filepath.Rel(r, d)
	return err == nil && filepath.IsLocal(rel)
}

// goPages writes a module's Markdown and a page for each package.
func goPages(ctx context.Context, p *pages, d Dependency) error {
	if err := p.copyMarkdown(ctx, d.Dir, "testdata", "vendor", "node_modules"); err != nil {
		return err
	}
	if err := p.goPackages(ctx, d.Dir, d.Name); err != nil {
		return fmt.Errorf("read the packages of %s: %w", d.Name, err)
	}
	return nil
}
