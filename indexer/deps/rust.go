package deps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
		if !strings.HasPrefix(p.Source, "registry+") && !strings.HasPrefix(p.Source, "sparse+") {
			d.Why = refused + "its source is " + printable(p.Source) + "; add it yourself: deskhand add ADDRESS"
		}
		list = append(list, d)
	}
	return list, nil
}

// locateRust searches for d in the folders of unpacked crates and then in vendor.
func locateRust(k *disk, d *Dependency) {
	if k.crates == nil {
		home := os.Getenv("CARGO_HOME")
		if home == "" {
			user, _ := os.UserHomeDir() // if user is empty, no crates are found
			home = filepath.Join(user, ".cargo")
		}
		k.crates, _ = filepath.Glob(filepath.Join(home, "registry", "src", "*"))
		k.crates = append(k.crates, "")
	}
	for _, in := range k.crates {
		if dir := filepath.Join(in, d.Name+"-"+d.Version); in != "" && isFolder(dir) {
			d.Dir = dir
			return
		}
	}
	for _, name := range []string{d.Name + "-" + d.Version, d.Name} {
		dir := filepath.Join(d.at, "vendor", name)
		if isFolder(dir) && within(d.at, dir) && crateVersion(dir) == d.Version {
			d.Dir = dir
			return
		}
	}
	d.Why = "it is not in cargo's folder of unpacked crates; run \"cargo fetch\""
}

// crateVersion returns the version in the Cargo.toml in dir, or "" if there is
// none.
func crateVersion(dir string) string {
	var c struct {
		Package struct {
			Version string `toml:"version"`
		} `toml:"package"`
	}
	src, err := readFile(filepath.Join(dir, "Cargo.toml"), 4<<20)
	if err != nil || toml.Unmarshal(src, &c) != nil {
		return ""
	}
	return c.Package.Version
}

// rustPages writes a crate's Markdown and the docs of its root module.
func rustPages(ctx context.Context, p *pages, d Dependency) error {
	if err := p.copyMarkdown(ctx, d.Dir, "target", "tests", "vendor"); err != nil {
		return err
	}
	src, err := p.read(d.Dir, "src/lib.rs", maxSource)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		p.leave("src/lib.rs: " + printable(err.Error()))
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
