package deps

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/textproto"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// normal returns the normalized form of a Python package name, for comparing
// names (PEP 503).
func normal(name string) string {
	return separators().ReplaceAllString(strings.ToLower(name), "-")
}

var separators = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-_.]+`) })

// needName matches the name at the beginning of a requirement.
var needName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*([A-Za-z0-9][A-Za-z0-9._-]*)`) })

// readUvLock reads the packages in uv.lock. The dependencies of the project's packages
// are direct.
func readUvLock(file string, src []byte) ([]Dependency, error) {
	type need struct {
		Name    string `toml:"name"`
		Version string `toml:"version"` // empty if the file has only one
	}
	var l struct {
		Manifest struct {
			Groups map[string][]need `toml:"dependency-groups"` // of a workspace without a package
		} `toml:"manifest"`
		Package []struct {
			Name         string            `toml:"name"`
			Version      string            `toml:"version"`
			Source       map[string]any    `toml:"source"`
			Dependencies []need            `toml:"dependencies"`
			Optional     map[string][]need `toml:"optional-dependencies"`
			Groups       map[string][]need `toml:"dev-dependencies"`
		} `toml:"package"`
	}
	if err := decodeTOML(file, src, &l); err != nil {
		return nil, err
	}
	own := func(source map[string]any) bool {
		return source["editable"] != nil || source["virtual"] != nil || source["directory"] != nil
	}
	direct := map[string]bool{} // keys have the form "name@" or "name@version"
	needed := mapValues(l.Manifest.Groups)
	for _, p := range l.Package {
		if own(p.Source) {
			needed = append(needed, slices.Concat(mapValues(p.Optional), mapValues(p.Groups), [][]need{p.Dependencies})...)
		}
	}
	for _, list := range needed {
		for _, n := range list {
			direct[normal(n.Name)+"@"+n.Version] = true
		}
	}
	var list []Dependency
	for _, p := range l.Package {
		if !own(p.Source) {
			name := normal(p.Name) + "@"
			list = append(list, Dependency{Name: p.Name, Version: p.Version, Direct: direct[name] || direct[name+p.Version]})
		}
	}
	return list, nil
}

// readPoetryLock reads the packages in poetry.lock or pdm.lock. The direct dependencies
// are listed in pyproject.toml.
func readPoetryLock(file string, src []byte) ([]Dependency, error) {
	var l struct {
		Package []struct {
			Name    string `toml:"name"`
			Version string `toml:"version"`
		} `toml:"package"`
	}
	if err := decodeTOML(file, src, &l); err != nil {
		return nil, err
	}
	direct, err := pyproject(filepath.Join(filepath.Dir(file), "pyproject.toml"))
	if err != nil {
		return nil, err
	}
	var list []Dependency
	for _, p := range l.Package {
		list = append(list, Dependency{Name: p.Name, Version: p.Version, Direct: direct[normal(p.Name)]})
	}
	return list, nil
}

// pyproject returns the names of the dependencies in the tables of Python, Poetry and
// PDM in a pyproject.toml.
func pyproject(file string) (map[string]bool, error) {
	type table struct {
		Dependencies map[string]any `toml:"dependencies"`
	}
	var p struct {
		Project struct {
			Dependencies []string            `toml:"dependencies"`
			Optional     map[string][]string `toml:"optional-dependencies"`
		} `toml:"project"`
		Groups map[string][]any `toml:"dependency-groups"`
		Tool   struct {
			Poetry struct {
				table
				Development map[string]any   `toml:"dev-dependencies"`
				Group       map[string]table `toml:"group"`
			} `toml:"poetry"`
			PDM struct {
				Development map[string][]string `toml:"dev-dependencies"`
			} `toml:"pdm"`
		} `toml:"tool"`
	}
	src, err := readFile(file, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, broken(file, 0, err.Error())
	}
	if err := decodeTOML(file, src, &p); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, list := range slices.Concat(mapValues(p.Project.Optional), mapValues(p.Tool.PDM.Development), [][]string{p.Project.Dependencies}) {
		for _, need := range list {
			if m := needName().FindStringSubmatch(need); m != nil {
				names[normal(m[1])] = true
			}
		}
	}
	for _, list := range p.Groups {
		for _, need := range list {
			if m := needName().FindStringSubmatch(fmt.Sprint(need)); m != nil {
				names[normal(m[1])] = true
			}
		}
	}
	tables := []map[string]any{p.Tool.Poetry.Dependencies, p.Tool.Poetry.Development}
	for _, g := range p.Tool.Poetry.Group {
		tables = append(tables, g.Dependencies)
	}
	for _, t := range tables {
		for name := range t {
			names[normal(name)] = true
		}
	}
	return names, nil
}

// pinned matches a requirement with an exact version in requirements.txt. needLine
// matches a requirement without one.
var (
	pinned = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*===?\s*([A-Za-z0-9][A-Za-z0-9.+!_-]*)\s*(?:;.*|--.*)?$`)
	})
	needLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?:[<>=!~;@(].*|--.*)?$`)
	})
)

// readRequirements reads requirements.txt and the files that it includes. A
// requirement is indirect if a comment from pip-compile says that only other packages
// need it.
func readRequirements(file string, src []byte) ([]Dependency, error) {
	r := requirements{root: filepath.Dir(file), seen: map[string]bool{file: true}}
	if err := r.read(file, src); err != nil {
		return nil, err
	}
	return r.list, nil
}

// addressed matches a requirement that begins with an address. archived matches the name
// of a package's archive.
var (
	addressed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:(//|/)`) })
	archived  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:([A-Za-z0-9._]+)-([0-9][^-]*)-.+\.whl|([A-Za-z0-9._-]+)-([0-9][^-]*?)\.(?:zip|tar\.\w+|tgz))$`)
	})
)

// ofAddress returns the package at an address. Its name is after "#egg=", or else that of
// the archive or repository. For a local folder, which is a part of the project, the name
// is empty.
func ofAddress(text string) Dependency {
	address, _, _ := strings.Cut(text, " ")
	address, fragment, _ := strings.Cut(address, "#")
	if values, err := url.ParseQuery(fragment); err == nil {
		if m := needName().FindStringSubmatch(values.Get("egg")); m != nil {
			return Dependency{Name: m[1], Direct: true}
		}
	}
	address, _, _ = strings.Cut(address, "?")
	if m := archived().FindStringSubmatch(path.Base(address)); m != nil {
		return Dependency{Name: m[1] + m[3], Version: m[2] + m[4], Direct: true}
	}
	if strings.HasPrefix(address, "file:") {
		return Dependency{}
	}
	return Dependency{Name: strings.TrimSuffix(path.Base(withoutRevision(address)), ".git"), Direct: true}
}

// withoutRevision removes the revision after the last "@" in an address's path. A revision
// may contain slashes. A user name before the host stays.
func withoutRevision(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	at, _, _ := strings.Cut(address, "@")
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		if i := strings.LastIndexByte(rest[slash:], '@'); i >= 0 {
			at = address[:len(address)-len(rest)+slash+i]
		} else {
			at = address
		}
	}
	return at
}

type requirements struct {
	root string
	seen map[string]bool
	list []Dependency
}

func (r *requirements) read(file string, src []byte) error {
	var joined string
	for i, line := range strings.Split(strings.ReplaceAll(string(src), "\r", ""), "\n") {
		if before, more := strings.CutSuffix(line, "\\"); more {
			joined += before + " "
			continue
		}
		line, joined = joined+line, ""
		text, comment, _ := strings.Cut(line, "#")
		if i := strings.Index(line, " #"); i < 0 && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			text = line // "#" is part of a URL
		}
		text = strings.TrimSpace(text)
		if text == "" {
			r.via(comment)
			continue
		}
		if err := r.line(file, i+1, text); err != nil {
			return err
		}
		r.via(comment)
	}
	return nil
}

// via reads a comment from pip-compile. It marks the last requirement as indirect
// if only other packages need it.
func (r *requirements) via(comment string) {
	why := strings.TrimSpace(comment)
	if n := len(r.list); n > 0 && strings.HasPrefix(why, "via") {
		by := strings.TrimSpace(strings.TrimPrefix(why, "via"))
		r.list[n-1].Direct = by == "" || strings.Contains(by, "-r ") || strings.Contains(by, "(")
	} else if n > 0 && strings.HasPrefix(why, "-r ") {
		r.list[n-1].Direct = true
	}
}

func (r *requirements) line(file string, number int, text string) error {
	for _, flag := range []string{"-r ", "--requirement ", "--requirement="} {
		if name, ok := strings.CutPrefix(text, flag); ok {
			return r.include(file, number, strings.TrimSpace(name))
		}
	}
	for _, flag := range []string{"-e ", "--editable ", "--editable="} {
		text = strings.TrimPrefix(text, flag)
	}
	if addressed().MatchString(text) {
		if d := ofAddress(text); d.Name != "" {
			r.list = append(r.list, d)
		}
		return nil
	}
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") {
		return nil // it is an option, or a folder in the project
	}
	if m := pinned().FindStringSubmatch(text); m != nil {
		r.list = append(r.list, Dependency{Name: m[1], Version: m[2], Direct: true})
		return nil
	}
	if m := needLine().FindStringSubmatch(text); m != nil {
		r.list = append(r.list, Dependency{Name: m[1], Direct: true})
		return nil
	}
	return broken(file, number, "'"+text+"' is not a valid requirement")
}

func (r *requirements) include(file string, number int, name string) error {
	at := filepath.Join(filepath.Dir(file), filepath.FromSlash(name))
	if r.seen[at] {
		return nil
	}
	r.seen[at] = true
	if !within(r.root, at) {
		return broken(file, number, "'"+name+"' does not exist, or is outside the project")
	}
	src, err := readFile(at, maxLock)
	if err != nil {
		return broken(file, number, "'"+name+"' cannot be read: "+err.Error())
	}
	return r.read(at, src)
}

// distribution is an installed package.
type distribution struct {
	version, packages, info string
}

// locatePython searches for d in the project's environments and then in the
// active one.
func locatePython(k *disk, d *Dependency) {
	if k.python == nil {
		k.python = map[string][]distribution{}
		for _, dir := range environments(d.at, k.start) {
			k.readEnvironment(dir)
		}
	}
	installed := k.python[normal(d.Name)]
	for _, i := range installed {
		if d.Version == "" || i.version == d.Version {
			d.Version, d.Dir, d.info = i.version, i.packages, i.info
			return
		}
	}
	d.Why = "it is not installed in an environment of the project (.venv, venv, __pypackages__, Poetry's or VIRTUAL_ENV); install it there"
	if len(installed) > 0 {
		d.Why = "the environment has version " + printable(installed[0].version) + " instead of the locked " + d.Version + "; install that version"
	}
}

// environments returns the virtual environments in the folders from start up to at,
// the lock file's folder, those that uv and Poetry use for at, and the active environment.
func environments(at, start string) (dirs []string) {
	for dir := start; ; dir = filepath.Dir(dir) {
		dirs = append(dirs, filepath.Join(dir, ".venv"), filepath.Join(dir, "venv"))
		others, _ := filepath.Glob(filepath.Join(dir, "*", "pyvenv.cfg"))
		for _, file := range others {
			if other := filepath.Dir(file); !slices.Contains(dirs, other) {
				dirs = append(dirs, other)
			}
		}
		local, _ := filepath.Glob(filepath.Join(dir, "__pypackages__", "3.*"))
		dirs = append(dirs, local...)
		if dir == at || dir == filepath.Dir(dir) {
			break
		}
	}
	if named := os.Getenv("UV_PROJECT_ENVIRONMENT"); filepath.IsAbs(named) {
		dirs = append(dirs, named)
	} else if named != "" {
		dirs = append(dirs, filepath.Join(at, named))
	}
	dirs = append(dirs, poetryEnvironments(at)...)
	if active := os.Getenv("VIRTUAL_ENV"); filepath.IsAbs(active) && !slices.Contains(dirs, active) {
		dirs = append(dirs, active)
	}
	return dirs
}

// poetryEnvironments returns the environments that Poetry keeps in its cache for the
// project in dir. Their names contain a digest of the project's path.
func poetryEnvironments(dir string) []string {
	in := os.Getenv("POETRY_VIRTUALENVS_PATH")
	if in == "" {
		cache := os.Getenv("POETRY_CACHE_DIR")
		if user, err := os.UserCacheDir(); cache == "" && err == nil {
			cache = filepath.Join(user, "pypoetry")
			if runtime.GOOS == "windows" {
				cache = filepath.Join(cache, "Cache")
			}
		}
		in = filepath.Join(cache, "virtualenvs")
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(in) {
		return nil
	}
	if runtime.GOOS == "windows" {
		real = strings.ToLower(real)
	}
	found, _ := filepath.Glob(filepath.Join(in, "*-"+poetryDigest(real)+"-py*"))
	return found
}

// poetryDigest returns the digest of a project's path in the name of its environment.
func poetryDigest(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return base64.URLEncoding.EncodeToString(sum[:])[:8]
}

// readEnvironment records the packages in site-packages of the environment at dir, or in
// the folder lib of a version's folder in __pypackages__.
func (k *disk) readEnvironment(dir string) {
	sites, _ := filepath.Glob(filepath.Join(dir, "lib*", "python3*", "site-packages"))
	windows, _ := filepath.Glob(filepath.Join(dir, "Lib", "site-packages"))
	sites = append(sites, windows...)
	if filepath.Base(filepath.Dir(dir)) == "__pypackages__" {
		sites = append(sites, filepath.Join(dir, "lib"))
	}
	for _, site := range sites {
		entries, _ := os.ReadDir(site) // a folder that cannot be read is treated as empty
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), ".dist-info")
			if !ok || !e.IsDir() {
				continue
			}
			if i := strings.LastIndexByte(name, '-'); i > 0 {
				key := normal(name[:i])
				k.python[key] = append(k.python[key], distribution{name[i+1:], site, e.Name()})
			}
		}
	}
}

// pythonPages writes the long description from METADATA, and the Markdown files that
// RECORD lists.
func pythonPages(_ context.Context, p *pages, d Dependency) error {
	src, err := p.read(d.Dir, path.Join(d.info, "METADATA"), maxSource)
	if err != nil {
		return fmt.Errorf("read METADATA: %w", err)
	}
	head, body, err := splitMetadata(src)
	if err != nil {
		return fmt.Errorf("read METADATA: %w", err)
	}
	if strings.TrimSpace(body) != "" {
		if kind := head.Get("Description-Content-Type"); !strings.HasPrefix(kind, "text/markdown") {
			p.leave("its description is " + cmp.Or(printable(firstWord(kind)), "text/x-rst") + ", which is read as plain text")
		}
		if err := p.page("README.md", d.Name, []byte(body)); err != nil {
			return err
		}
	}
	record, err := p.read(d.Dir, path.Join(d.info, "RECORD"), maxSource)
	if err != nil {
		return nil // not every installer writes RECORD
	}
	return p.recorded(d, record)
}

func firstWord(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.TrimSpace(s)
}

// splitMetadata splits METADATA into its fields and the description. The description
// is the body, or else the field Description.
func splitMetadata(src []byte) (textproto.MIMEHeader, string, error) {
	r := bufio.NewReader(bytes.NewReader(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))))
	head, err := textproto.NewReader(r).ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return nil, "", err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		if text := head.Get("Description"); text != "UNKNOWN" {
			body = []byte(text)
		}
	}
	return head, string(body), nil
}

// recorded copies the pages that RECORD lists.
func (p *pages) recorded(d Dependency, record []byte) error {
	r := csv.NewReader(bytes.NewReader(record))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	for {
		row, err := r.Read()
		if err != nil {
			return nil // the end of the file, or a line that is not valid
		}
		name := path.Clean(row[0])
		if !isPage(name) || strings.HasPrefix(name, d.info+"/") || strings.Contains("/"+name, "/node_modules/") {
			continue
		}
		if err := p.copyOne(d.Dir, name); err != nil {
			return err
		}
	}
}
