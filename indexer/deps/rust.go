package deps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// decodeTOML decodes src into v. If it fails, the error contains the file and
// line.
func decodeTOML(file string, src []byte, v any) error {
	err := toml.Unmarshal(src, v)
	if err == nil {
		return nil
	}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		line, _ := at.Position()
		return broken(file, line, at.Error())
	}
	return broken(file, 1, err.Error())
}

// readCargoLock reads the packages in Cargo.lock. Packages without a source are part
// of the project, and their dependencies are direct.
func readCargoLock(file string, src []byte) ([]Dependency, error) {
	var l struct {
		Package []struct {
			Name         string   `toml:"name"`
			Version      string   `toml:"version"`
			Source       string   `toml:"source"`
			Dependencies []string `toml:"dependencies"`
		} `toml:"package"`
	}
	if err := decodeTOML(file, src, &l); err != nil {
		return nil, err
	}
	direct := map[string]bool{} // keys have the form "name" or "name version"
	for _, p := range l.Package {
		if p.Source == "" {
			for _, need := range p.Dependencies {
				need, _, _ = strings.Cut(need, " (")
				direct[need] = true
			}
		}
	}
	var list []Dependency
	for _, p := range l.Package {
		if p.Source == "" {
			continue
		}
		d := Dependency{Name: p.Name, Version: p.Version, Direct: direct[p.Name] || direct[p.Name+" "+p.Version]}
		_, revision, _ := strings.Cut(p.Source, "#")
		switch {
		case strings.HasPrefix(p.Source, "git+") && commit().MatchString(revision):
			d.revision = revision
		case !strings.HasPrefix(p.Source, "registry+") && !strings.HasPrefix(p.Source, "sparse+"):
			d.Why = refused + "its source is " + printable(p.Source) + "; add it yourself: deskhand add ADDRESS"
		}
		list = append(list, d)
	}
	return list, nil
}

// commit matches a revision in Cargo.lock.
var commit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{40,64}$`) })

// locateRust searches for d in cargo's folders of unpacked crates and checkouts, and then
// in the project's folders of vendored crates.
func locateRust(k *disk, d *Dependency) {
	home := os.Getenv("CARGO_HOME")
	if home == "" {
		user, _ := os.UserHomeDir() // if user is empty, no crates are found
		home = filepath.Join(user, ".cargo")
	}
	if k.crates == nil {
		k.crates, _ = filepath.Glob(filepath.Join(home, "registry", "src", "*"))
		k.crates = append(k.crates, "")
	}
	for _, in := range k.crates {
		if dir := filepath.Join(in, d.Name+"-"+d.Version); in != "" && d.revision == "" && isFolder(dir) {
			d.Dir = dir
			return
		}
	}
	if d.revision != "" {
		checkouts, _ := filepath.Glob(filepath.Join(home, "git", "checkouts", "*", d.revision[:7]))
		for _, dir := range checkouts {
			if d.Dir = crateIn(dir, d.Name); d.Dir != "" {
				return
			}
		}
	}
	for _, vendored := range vendorFolders(d.at) {
		for _, name := range []string{d.Name + "-" + d.Version, d.Name} {
			dir := filepath.Join(d.at, vendored, name)
			if isFolder(dir) && within(d.at, dir) && manifestOf(dir).Package.Version == d.Version {
				d.Dir = dir
				return
			}
		}
	}
	d.Why = "it is not in cargo's folder of unpacked crates; run \"cargo fetch\""
}

// vendorFolders returns the folders of vendored crates that cargo's configuration names,
// and the default one, relative to at.
func vendorFolders(at string) []string {
	folders := []string{"vendor"}
	for _, name := range []string{"config.toml", "config"} {
		var c struct {
			Source map[string]struct {
				Directory string `toml:"directory"`
			} `toml:"source"`
		}
		src, err := readFile(filepath.Join(at, ".cargo", name), maxLock)
		if err != nil || toml.Unmarshal(src, &c) != nil {
			continue
		}
		for _, s := range c.Source {
			if dir := filepath.FromSlash(s.Directory); dir != "" && filepath.IsLocal(dir) {
				folders = append(folders, dir)
			}
		}
		break // cargo reads only the first
	}
	slices.Sort(folders)
	return folders
}

// maxCrates is the maximum number of folders that are searched for a crate in a checkout.
const maxCrates = 5000

// crateIn returns the folder of the named crate in a checkout, or "" if there is none.
func crateIn(checkout, name string) (found string) {
	seen := 0
	_ = filepath.WalkDir(checkout, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // the folder cannot be read
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "target"):
			return fs.SkipDir
		case d.IsDir():
			if seen++; seen > maxCrates {
				return fs.SkipAll
			}
		case d.Name() == "Cargo.toml" && manifestOf(filepath.Dir(file)).Package.Name == name:
			found = filepath.Dir(file)
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// manifest holds the fields that are used from a Cargo.toml.
type manifest struct {
	Package struct {
		Name    string `toml:"name"`
		Version any    `toml:"version"` // a table if it is that of the workspace
	} `toml:"package"`
	Lib struct {
		Path string `toml:"path"`
	} `toml:"lib"`
}

// manifestOf returns the manifest in dir. If there is none or it is invalid, it is empty.
func manifestOf(dir string) (m manifest) {
	src, err := readFile(filepath.Join(dir, "Cargo.toml"), 4<<20)
	if err != nil || toml.Unmarshal(src, &m) != nil {
		return manifest{}
	}
	return m
}

// rustPages writes a crate's Markdown and the docs of its root module.
func rustPages(ctx context.Context, p *pages, d Dependency) error {
	if err := p.copyMarkdown(ctx, d.Dir, "target", "tests", "vendor"); err != nil {
		return err
	}
	root := path.Clean(cmp.Or(manifestOf(d.Dir).Lib.Path, "src/lib.rs"))
	src, err := p.read(d.Dir, root, maxSource)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		p.leave(printable(root) + ": " + printable(err.Error()))
		return nil
	}
	if text := crateDocs(string(src)); text != "" {
		return p.write("api/lib.md", fmt.Sprintf("# Crate %s %s\n\n%s\n", d.Name, d.Version, text))
	}
	return nil
}

// crateDocs returns the text of the //! and /*! comments at the beginning of lib.rs.
func crateDocs(src string) string {
	var out []string
	inBlock, attribute := false, 0
	for _, line := range strings.Split(strings.ReplaceAll(src, "\r", ""), "\n") {
		text := strings.TrimSpace(line)
		switch {
		case inBlock:
			before, _, ends := strings.Cut(line, "*/")
			out = append(out, strings.TrimRight(before, " "))
			inBlock = !ends
		case attribute > 0:
			attribute += strings.Count(text, "[") - strings.Count(text, "]")
		case strings.HasPrefix(text, "//!"):
			out = append(out, strings.TrimPrefix(strings.TrimPrefix(text, "//!"), " "))
		case strings.HasPrefix(text, "/*!"):
			before, _, ends := strings.Cut(text[3:], "*/")
			out = append(out, strings.TrimSpace(before))
			inBlock = !ends
		case strings.HasPrefix(text, "#!["):
			attribute = strings.Count(text, "[") - strings.Count(text, "]")
		case text == "" || strings.HasPrefix(text, "//"):
		default:
			return withoutHidden(out)
		}
	}
	return withoutHidden(out)
}

// withoutHidden removes the lines of examples that rustdoc hides.
func withoutHidden(lines []string) string {
	var out []string
	fenced, rust := false, false
	for _, line := range lines {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~") {
			language := strings.TrimLeft(text, "`~")
			fenced, rust = !fenced, language == "" || strings.HasPrefix(language, "rust") || strings.HasPrefix(language, "no_run") || strings.HasPrefix(language, "should_panic") || strings.HasPrefix(language, "ignore")
		} else if fenced && rust && (text == "#" || strings.HasPrefix(text, "# ")) {
			continue
		}
		out = append(out, line)
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}
