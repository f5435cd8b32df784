package deps

import (
	"bytes"
	"cmp"
	"encoding/json"
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

	"go.yaml.in/yaml/v3"
)

// packageJSON holds the fields that are used from a package.json.
type packageJSON struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Types        string            `json:"types"`
	Typings      string            `json:"typings"`
	Main         string            `json:"main"`
	Exports      json.RawMessage   `json:"exports"`
	Workspaces   json.RawMessage   `json:"workspaces"`
	Dependencies map[string]string `json:"dependencies"`
	Development  map[string]string `json:"devDependencies"`
	Optional     map[string]string `json:"optionalDependencies"`
	Peers        map[string]string `json:"peerDependencies"`
}

// needs returns the dependencies that p lists, with their version ranges.
func (p packageJSON) needs() map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{p.Peers, p.Optional, p.Development, p.Dependencies} {
		for name, wanted := range m {
			all[name] = wanted
		}
	}
	return all
}

// decodeJSON decodes src into v. If it fails, the error contains the file and
// line.
func decodeJSON(file string, src []byte, v any) error {
	err := json.Unmarshal(bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")), v)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return broken(file, lineAt(src, syntax.Offset), err.Error())
	case errors.As(err, &kind):
		return broken(file, lineAt(src, kind.Offset), err.Error())
	}
	return broken(file, 1, err.Error())
}

// lineAt returns the 1-based line of an offset.
func lineAt(src []byte, offset int64) int {
	return 1 + bytes.Count(src[:min(max(offset, 0), int64(len(src)))], []byte("\n"))
}

// packageFile is the file that lists a package's dependencies. It has no exact versions.
const packageFile = "package.json"

// coversPackage reports whether the package in dir uses the packages of the lock file in
// root: it is one of root's workspaces, or it lists no dependencies of its own, like a
// package.json that only sets the type of the modules below it.
func coversPackage(root, dir string) bool {
	var p, of packageJSON
	if src, err := readFile(filepath.Join(dir, packageFile), maxLock); err != nil || decodeJSON(packageFile, src, &p) != nil {
		return false
	}
	if len(p.needs()) == 0 {
		return true
	}
	if _, err := os.Stat(filepath.Join(root, "pnpm-workspace.yaml")); err == nil {
		return true
	}
	src, err := readFile(filepath.Join(root, packageFile), maxLock)
	return err == nil && decodeJSON(packageFile, src, &of) == nil && slices.Contains(workspaces(root, of.Workspaces), dir)
}

type npmEntry struct {
	packageJSON
	Link bool `json:"link"`
}

// readPackageLock reads versions 1 to 3 of the file. Versions 2 and 3 list packages
// by folder, and version 1 nests dependencies.
func readPackageLock(file string, src []byte) ([]Dependency, error) {
	var l struct {
		Packages     map[string]npmEntry        `json:"packages"`
		Dependencies map[string]json.RawMessage `json:"dependencies"`
	}
	if err := decodeJSON(file, src, &l); err != nil {
		return nil, err
	}
	if l.Packages == nil {
		return readOldLock(file, l.Dependencies)
	}
	direct := map[string]bool{} // by folder
	for at, e := range l.Packages {
		if strings.Contains("/"+at, "/node_modules/") {
			continue
		}
		for name := range e.needs() { // e is the project or one of its workspaces
			direct[resolveNPM(l.Packages, at, name)] = true
		}
	}
	var list []Dependency
	for at, e := range l.Packages {
		i := strings.LastIndex("/"+at, "/node_modules/")
		if i < 0 || e.Link {
			continue
		}
		name := at[i+len("node_modules/"):]
		d := Dependency{Name: cmp.Or(e.Name, name), Version: e.Version, Direct: direct[at], folder: at}
		if d.Name != name {
			d.alias = name
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Dependency) int { return strings.Compare(a.folder, b.folder) })
	return list, nil
}

// resolveNPM returns the folder of the package that an import of name in the package
// at from resolves to, or "" if there is none.
func resolveNPM(packages map[string]npmEntry, from, name string) string {
	for {
		at := path.Join(from, "node_modules", name)
		if _, ok := packages[at]; ok {
			return at
		}
		if from == "" || from == "." || from == "/" {
			return ""
		}
		if from = path.Dir(from); from == "." {
			from = ""
		}
	}
}

// readOldLock reads the dependencies from version 1 of the file. The direct
// dependencies are listed in package.json.
func readOldLock(file string, packages map[string]json.RawMessage) ([]Dependency, error) {
	direct, err := besides(file)
	if err != nil {
		return nil, err
	}
	var list []Dependency
	// The packages in deps are at the top of the project or of a workspace if top is true.
	var read func(deps map[string]json.RawMessage, at string, top bool, depth int) error
	read = func(deps map[string]json.RawMessage, at string, top bool, depth int) error {
		for name, raw := range deps {
			var e struct {
				Version      string                     `json:"version"`
				Dependencies map[string]json.RawMessage `json:"dependencies"`
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				return broken(file, 0, name+": "+err.Error())
			}
			in := path.Join(at, "node_modules", name)
			own := localRange(e.Version) // a workspace
			if !own {
				d := Dependency{Name: name, Version: exactVersion(e.Version), Direct: direct[name] != nil && top, folder: in}
				if n, v := npmAlias(e.Version); n != "" {
					d.Name, d.Version, d.alias = n, v, name
				}
				list = append(list, d)
			}
			if depth < 100 {
				if err := read(e.Dependencies, in, own, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err = read(packages, "", true, 0)
	slices.SortFunc(list, func(a, b Dependency) int { return strings.Compare(a.folder, b.folder) })
	return list, err
}

// npmAlias splits a version of the form "npm:NAME@VERSION", which a lock file contains
// for a package that is installed under another name. If v has another form, the name is
// empty.
func npmAlias(v string) (name, version string) {
	of, ok := strings.CutPrefix(v, "npm:")
	if i := strings.LastIndexByte(of, '@'); ok && i > 0 {
		return of[:i], of[i+1:]
	}
	return "", ""
}

// exactVersion returns v, or "" if v is the address of a repository or an archive. The
// version is then that of the package on disk.
func exactVersion(v string) string {
	if strings.ContainsAny(v, ":/#") {
		return ""
	}
	return v
}

// besides returns the dependencies listed in the package.json next to a lock file, and
// in those of its workspaces, with all their version ranges.
func besides(file string) (map[string][]string, error) {
	root := filepath.Dir(file)
	src, err := readFile(filepath.Join(root, packageFile), maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, broken(filepath.Join(root, packageFile), 0, err.Error())
	}
	var p packageJSON
	if err := decodeJSON(filepath.Join(root, packageFile), src, &p); err != nil {
		return nil, err
	}
	all := map[string][]string{}
	add := func(p packageJSON) {
		for name, wanted := range p.needs() {
			all[name] = append(all[name], wanted)
		}
	}
	add(p)
	for _, dir := range workspaces(root, p.Workspaces) {
		var w packageJSON
		src, err := readFile(filepath.Join(dir, packageFile), maxLock)
		if err != nil || json.Unmarshal(src, &w) != nil {
			continue // it is not a workspace
		}
		add(w)
	}
	return all, nil
}

// maxWorkspaces is the maximum number of workspaces that are read.
const maxWorkspaces = 1000

// workspacesOf returns the folders of the workspaces of the package in root.
func (k *disk) workspacesOf(root string) []string {
	dirs, known := k.workspaces[root]
	if !known {
		var p packageJSON
		if src, err := readFile(filepath.Join(root, packageFile), maxLock); err == nil && json.Unmarshal(src, &p) == nil {
			dirs = workspaces(root, p.Workspaces)
		}
		if k.workspaces == nil {
			k.workspaces = map[string][]string{}
		}
		k.workspaces[root] = dirs
	}
	return dirs
}

// workspaces returns the folders below root that match the field "workspaces" of a
// package.json. It lists single folders but never walks a tree, so a cycle of links
// does no harm.
func workspaces(root string, raw json.RawMessage) (dirs []string) {
	var globs []string
	if json.Unmarshal(raw, &globs) != nil {
		var o struct {
			Packages []string `json:"packages"`
		}
		_ = json.Unmarshal(raw, &o) // invalid workspaces are treated as missing
		globs = o.Packages
	}
	for _, g := range globs {
		g = strings.TrimSuffix(strings.ReplaceAll(path.Clean(g), "**", "*"), "/")
		if !filepath.IsLocal(g) {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(g)))
		for _, dir := range found {
			if len(dirs) < maxWorkspaces && isFolder(dir) && within(root, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}

// readPackageJSON reads the package.json of a project without a lock file. The
// versions are those of the packages on disk.
func readPackageJSON(file string, src []byte) ([]Dependency, error) {
	var p packageJSON
	if err := decodeJSON(file, src, &p); err != nil {
		return nil, err
	}
	needs, err := besides(file)
	if err != nil {
		return nil, err
	}
	var list []Dependency
	for name, wanted := range needs {
		if slices.ContainsFunc(wanted, func(w string) bool { return !localRange(w) }) {
			list = append(list, Dependency{Name: name, Direct: true})
		}
	}
	return list, nil
}

// localRange reports whether a version range refers to a part of the project
// itself.
func localRange(wanted string) bool {
	for _, scheme := range []string{"workspace:", "link:", "file:", "portal:"} {
		if strings.HasPrefix(wanted, scheme) {
			return true
		}
	}
	return false
}

// yamlLine matches the line number in a YAML error.
var yamlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`line (\d+)`) })

func brokenYAML(file string, err error) error {
	line := 0
	if m := yamlLine().FindStringSubmatch(err.Error()); m != nil {
		fmt.Sscan(m[1], &line)
	}
	return broken(file, max(line, 1), err.Error())
}

// readPnpmLock reads versions 5 to 9 of the file.
func readPnpmLock(file string, src []byte) ([]Dependency, error) {
	type importer struct {
		Dependencies map[string]yaml.Node `yaml:"dependencies"`
		Development  map[string]yaml.Node `yaml:"devDependencies"`
		Optional     map[string]yaml.Node `yaml:"optionalDependencies"`
	}
	var l struct {
		importer  `yaml:",inline"`
		Importers map[string]importer  `yaml:"importers"`
		Packages  map[string]yaml.Node `yaml:"packages"`
	}
	if err := yaml.Unmarshal(src, &l); err != nil {
		return nil, brokenYAML(file, err)
	}
	var list []Dependency
	direct := func(deps map[string]yaml.Node) {
		for name, node := range deps {
			var at struct {
				Version string `yaml:"version"`
			}
			if node.Kind == yaml.ScalarNode {
				at.Version = node.Value
			} else if node.Decode(&at) != nil {
				continue
			}
			if localRange(at.Version) {
				continue
			}
			d := Dependency{Name: name, Version: exactVersion(withoutPeers(at.Version)), Direct: true}
			if n, v := pnpmKey(at.Version); n != "" { // an alias
				d.Name, d.Version, d.alias = n, v, name
			}
			list = append(list, d)
		}
	}
	for _, i := range append([]importer{l.importer}, mapValues(l.Importers)...) {
		direct(i.Dependencies)
		direct(i.Development)
		direct(i.Optional)
	}
	for key := range l.Packages {
		if name, version := pnpmKey(key); name != "" {
			list = append(list, Dependency{Name: name, Version: version})
		}
	}
	slices.SortFunc(list, func(a, b Dependency) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version), strings.Compare(b.alias, a.alias))
	})
	return list, nil
}

func mapValues[K comparable, V any](m map[K]V) (all []V) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// withoutPeers removes the peer dependencies from a version, for example from
// "1.2.3(react@18)" or "1.2.3_react@18".
func withoutPeers(v string) string {
	v, _, _ = strings.Cut(v, "(")
	v, _, _ = strings.Cut(v, "_")
	return v
}

// pnpmKey splits a key of the form "/name/1.2.3", "/name@1.2.3" or "name@1.2.3". If the
// key has another form, the name is empty.
func pnpmKey(key string) (name, version string) {
	if strings.Contains(key, "://") {
		return "", "" // an address, which may have an @ anywhere
	}
	old := strings.HasPrefix(key, "/")
	key, _, _ = strings.Cut(strings.TrimPrefix(key, "/"), "(")
	if i := strings.LastIndexByte(key, '@'); i > 0 && !strings.Contains(key[i:], "/") {
		return key[:i], withoutPeers(key[i+1:])
	}
	if i := strings.LastIndexByte(key, '/'); i > 0 && old {
		return key[:i], withoutPeers(key[i+1:])
	}
	return "", ""
}

// readYarnLock reads the lock file of yarn 1, or of yarn 2 and later. The latter
// is YAML.
func readYarnLock(file string, src []byte) ([]Dependency, error) {
	direct, err := besides(file)
	if err != nil {
		return nil, err
	}
	blocks, err := yarnBlocks(file, src)
	if err != nil {
		return nil, err
	}
	var list []Dependency
	matched := map[string]bool{} // names in package.json whose range a key has
	for keys, version := range blocks {
		for _, key := range strings.Split(keys, ",") {
			key = strings.Trim(strings.TrimSpace(key), `"`)
			i := strings.IndexByte(key[min(1, len(key)):], '@') + 1
			if i < 1 || version == "" || version == workspaceVersion {
				continue
			}
			name, wanted := key[:i], key[i+1:]
			if local := strings.TrimPrefix(wanted, "npm:"); localRange(wanted) || local == "" {
				continue
			}
			d := Dependency{Name: name, Version: version}
			if of, _ := npmAlias(wanted); of != "" {
				d.Name, d.alias = of, name
			}
			d.Direct = slices.ContainsFunc(direct[name], func(asked string) bool {
				return wanted == asked || wanted == "npm:"+asked || strings.HasPrefix(wanted, asked+"::") // a patch
			})
			matched[name] = matched[name] || d.Direct
			list = append(list, d)
		}
	}
	// Since yarn 2, the keys have the ranges of "resolutions" and of catalogs instead.
	for i, d := range list {
		name := cmp.Or(d.alias, d.Name)
		if !matched[name] && slices.ContainsFunc(direct[name], func(asked string) bool { return !localRange(asked) }) {
			list[i].Direct = true
		}
	}
	slices.SortFunc(list, func(a, b Dependency) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version), strings.Compare(b.alias, a.alias))
	})
	return list, nil
}

// workspaceVersion is the version of the project's own packages in the lock file of yarn
// 2 and later.
const workspaceVersion = "0.0.0-use.local"

// yarnBlocks returns the version of each block. The map is indexed by the first
// line of each block, which lists the block's keys.
func yarnBlocks(file string, src []byte) (map[string]string, error) {
	blocks := map[string]string{}
	if bytes.Contains(src, []byte("\n__metadata:")) || bytes.HasPrefix(src, []byte("__metadata:")) {
		var all map[string]struct {
			Version string `yaml:"version"`
		}
		if err := yaml.Unmarshal(src, &all); err != nil {
			return nil, brokenYAML(file, err)
		}
		delete(all, "__metadata")
		for keys, b := range all {
			blocks[keys] = b.Version
		}
		return blocks, nil
	}
	keys := ""
	for i, line := range strings.Split(string(src), "\n") {
		line = strings.TrimRight(line, "\r ")
		field, ok := strings.CutPrefix(line, "  version ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case line[0] != ' ':
			if !strings.HasSuffix(line, ":") {
				return nil, broken(file, i+1, "the line before a block must end with ':'")
			}
			keys = strings.TrimSuffix(line, ":")
			blocks[keys] = ""
		case keys == "":
			return nil, broken(file, i+1, "a field is outside a block")
		case ok:
			blocks[keys] = strings.Trim(field, `"`)
		}
	}
	return blocks, nil
}

// locateNPM searches for d in the folder given in the lock file, then in node_modules
// in the start folder and each of its parents, in those of the workspaces, in the stores
// of pnpm and of yarn's pnpm linker, and then in yarn's cache of archives.
func locateNPM(k *disk, d *Dependency) {
	name := cmp.Or(d.alias, d.Name)
	var places []string
	if d.folder != "" && filepath.IsLocal(filepath.FromSlash(d.folder)) {
		places = append(places, filepath.Join(d.at, filepath.FromSlash(d.folder)))
	}
	for dir := k.start; ; dir = filepath.Dir(dir) {
		places = append(places, filepath.Join(dir, "node_modules", filepath.FromSlash(name)))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for _, dir := range k.workspacesOf(d.at) {
		places = append(places, filepath.Join(dir, "node_modules", filepath.FromSlash(name)))
	}
	if d.Version != "" {
		modules := filepath.Join(d.at, "node_modules")
		stored, _ := filepath.Glob(filepath.Join(modules, ".pnpm", strings.ReplaceAll(d.Name, "/", "+")+"@"+d.Version+"*", "node_modules", filepath.FromSlash(d.Name)))
		places = append(places, stored...)
		for _, kind := range []string{"-npm-" + d.Version + "-", "-virtual-", "-patch-"} {
			stored, _ = filepath.Glob(filepath.Join(modules, ".store", yarnSlug(d.Name)+kind+"*", "package"))
			places = append(places, stored...)
		}
	}
	for _, at := range places {
		if d.try(at, d.at) {
			return
		}
	}
	if d.archive = yarnArchive(d); d.archive != "" {
		return
	}
	d.Why = "it is not in node_modules; install the dependencies with the project's package manager, or pass --fetch"
	if len(d.tried) > 0 {
		d.Why = strings.Join(d.tried, "; ") + "; install the dependencies with the project's package manager, or pass --fetch"
	}
}

// try accepts the package in dir if its package.json has the right version. If dir is a
// link, it must not point outside root, the folder that contains node_modules.
func (d *Dependency) try(dir, root string) bool {
	if _, err := os.Lstat(dir); err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	if before, _, ok := strings.Cut(dir, string(filepath.Separator)+"node_modules"+string(filepath.Separator)); ok && !within(before, real) && !within(root, real) {
		d.tried = append(d.tried, "node_modules has a link that points outside the project")
		return false
	}
	var p packageJSON
	src, err := readFile(filepath.Join(real, packageFile), 4<<20)
	if err != nil || json.Unmarshal(src, &p) != nil {
		return false
	}
	if p.Version == "" {
		return false // an empty folder, in place of a package for another system
	}
	if d.Version != "" && p.Version != d.Version {
		d.tried = append(d.tried, "node_modules has version "+printable(p.Version)+" instead of the locked "+d.Version)
		return false
	}
	d.Version, d.Dir = p.Version, real
	return true
}

// yarnSlug returns the form of a package's name in the names of yarn's files.
func yarnSlug(name string) string { return strings.ReplaceAll(name, "/", "-") }

// yarnArchive returns the path of d's archive in the cache of yarn 2 or later, or "" if
// there is none. With Plug'n'Play, the packages are only there.
func yarnArchive(d *Dependency) string {
	if d.Version == "" || d.lock != "yarn.lock" {
		return ""
	}
	dirs := []string{os.Getenv("YARN_CACHE_FOLDER"), filepath.Join(d.at, ".yarn", "cache")}
	if global := os.Getenv("YARN_GLOBAL_FOLDER"); global != "" {
		dirs = append(dirs, filepath.Join(global, "cache"))
	} else if home, err := os.UserHomeDir(); err == nil {
		dirs = append(dirs, filepath.Join(home, ".yarn", "berry", "cache"), filepath.Join(home, "AppData", "Local", "Yarn", "Berry", "cache"))
	}
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, _ := filepath.Glob(filepath.Join(dir, yarnSlug(d.Name)+"-npm-"+d.Version+"-*.zip")); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}
