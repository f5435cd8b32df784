package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// ConfigName is the configuration file's name.
const ConfigName = "deskhand.yaml"

// configFile is a configuration file. All its fields come from a single read of the
// file.
type configFile struct {
	path   string // empty if there is no file
	data   []byte
	values map[string][]string // the settings in the file, by name
}

// configPaths holds the paths of the configuration files for one run. chosen is a file
// that the user named; if it is set, no other file is used. Otherwise, project is the
// nearest project file, and its values override those in own, the user's personal file. A
// path is empty if there is no such file.
type configPaths struct{ chosen, project, own string }

// findConfig returns the file named with --config or DESKHAND_CONFIG. If neither is set,
// it returns the nearest deskhand.yaml and the user's own file.
func findConfig(flags *pflag.FlagSet) (p configPaths, err error) {
	if f := flags.Lookup("config"); f != nil && f.Changed {
		if p.chosen = f.Value.String(); p.chosen == "" {
			return p, fault.Misuse("--config is empty", "omit it, or pass a file")
		}
		return p, nil
	}
	p.own = ownConfig()
	switch named := Env("DESKHAND_CONFIG"); {
	case named != "" && Env(DigestVariable) == "":
		return configPaths{chosen: named}, nil
	case named != "":
		p.project = named // the deskhand process that started this one found the file
	default:
		if dir, err := os.Getwd(); err == nil {
			p.project = projectConfig(dir)
		}
	}
	if p.own != "" && sameFolder(filepath.Dir(p.own), filepath.Dir(p.project)) {
		p.project = "" // the working directory is the folder with the user's own file
	}
	return p, nil
}

// parseConfig reads the settings from data, the content of the file at path. It
// calls tell for each unknown key.
func parseConfig(path string, data []byte, tell func(string)) (configFile, error) {
	c := configFile{path, data, map[string][]string{}}
	v := viper.New()
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(data)); err != nil {
		return c, unreadable(path, err)
	}
	all := v.AllSettings()
	exact, err := c.written()
	if err != nil {
		return c, err
	}
	if err := c.ungroup(all, exact); err != nil {
		return c, err
	}
	delete(all, UpstreamsKey) // Upstreams reads this key
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one, ok := settingOf(name)
		if !ok {
			tell(path + ": unknown key '" + name + "'" + textutil.DidYouMean(textutil.Nearest(name, configKeys()), "'"))
			continue
		}
		if err := c.take(one, all[name]); err != nil {
			return c, err
		}
	}
	return c, nil
}

// readConfig reads a file that does not need to be trusted.
func readConfig(path string, tell func(string)) (configFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return configFile{}, unreadable(path, err)
	}
	return parseConfig(path, data, tell)
}

// unreadable rewords the library's error for a file that is missing or invalid.
func unreadable(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fault.Misuse("there is no configuration file "+path, "pass an existing file with --config")
	}
	reason := err.Error()
	if broken := new(viper.ConfigParseError); errors.As(err, broken) {
		reason = strings.TrimPrefix(broken.Unwrap().Error(), "yaml: ")
	}
	if strings.HasPrefix(reason, "unmarshal errors") {
		reason = "it does not consist of KEY: VALUE lines"
	}
	return fault.Misuse(fmt.Sprintf("read configuration %s: %s", path, reason), "fix the file, or pass another with --config")
}

func configKeys() (keys []string) {
	for _, one := range table {
		keys = append(keys, key(one.name))
	}
	return keys
}

// written returns the file's keys with their original case. It is needed because
// the library converts all keys to lower case, including the names of variables
// within a value. If two keys differ only in case, written returns an error,
// because they would be one setting with two values.
func (c *configFile) written() (keys map[string]any, err error) {
	if err := yaml.Unmarshal(c.data, &keys); err != nil {
		return nil, unreadable(c.path, err)
	}
	if name := twice(keys); name != "" {
		return nil, c.wrong(name, "is given twice")
	}
	for group, v := range keys {
		inner, _ := v.(map[string]any)
		if name := twice(inner); name != "" {
			return nil, c.wrong(group+"."+name, "is given twice")
		}
	}
	return keys, nil
}

// twice returns a key that occurs more than once with different case or spelling,
// or "" if there is none.
func twice(keys map[string]any) string {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		folded := key(strings.ToLower(name))
		if seen[folded] {
			return name
		}
		seen[folded] = true
	}
	return ""
}

// ungroup replaces each group of keys with keys of the form "group.key". If a
// setting's value is a tree, ungroup takes the value from written, where all keys
// have their original case.
func (c *configFile) ungroup(all, written map[string]any) error {
	for _, one := range table {
		group, inner, ok := strings.Cut(key(one.name), ".")
		v, there := all[group]
		if there && !ok && one.tree {
			all[group] = tree{member(written, group)}
		}
		if !ok || !there {
			continue
		}
		keys, ok := v.(map[string]any)
		if !ok {
			return c.wrong(group, "must be a group of keys that contains "+inner)
		}
		exact, _ := member(written, group).(map[string]any)
		delete(all, group)
		for name, v := range keys {
			if one, ok := settingOf(group + "." + key(name)); ok && one.tree {
				t := tree{member(exact, name)}
				if t.value == nil {
					t.value = member(written, group+"."+name) // the key is written with a dot instead of as a group
				}
				v = t
			}
			all[group+"."+name] = v
		}
	}
	return nil
}

// tree is a value of any type.
type tree struct{ value any }

// member returns the value of a key, ignoring case.
func member(keys map[string]any, name string) any {
	for key, v := range keys {
		if strings.EqualFold(key, name) {
			return v
		}
	}
	return nil
}

// take stores the value of one key. A blank value is treated as unset.
func (c *configFile) take(one setting, v any) error {
	if t, ok := v.(tree); ok {
		text, err := json.Marshal(t.value)
		if err != nil {
			return c.wrong(key(one.name), "must have strings as keys")
		}
		if t.value != nil {
			c.values[one.name] = []string{string(text)}
		}
		return nil
	}
	items, many := v.([]any)
	if !many {
		items = []any{v}
	}
	var texts []string
	for _, item := range items {
		switch item := item.(type) {
		case nil:
		case []any, map[string]any, map[any]any:
			return c.wrong(key(one.name), "must be a single value")
		default:
			texts = append(texts, one.split(strings.TrimSpace(fmt.Sprint(item)))...)
		}
	}
	switch {
	case many && !one.list:
		return c.wrong(key(one.name), "must be a single value, not a list")
	case len(texts) == 0, !one.list && texts[0] == "":
		return nil
	case one.path && strings.HasSuffix(texts[0], one.suffix) && !filepath.IsAbs(texts[0]) && !strings.Contains(texts[0], "://"):
		texts[0] = filepath.Join(filepath.Dir(c.path), texts[0])
	}
	c.values[one.name] = texts
	return nil
}

func (c *configFile) wrong(key, why string) error {
	return fault.Misuse(c.path+": "+strings.TrimSpace(key+" "+why), "fix the file, or pass another with --config")
}

// projectConfig returns the path of deskhand.yaml in dir or in the nearest parent
// folder that has one, or "" if there is none.
func projectConfig(dir string) string {
	for {
		if path := filepath.Join(dir, ConfigName); isFile(path) {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// ownConfig returns the path of deskhand.yaml in the user's configuration folder, or
// "" if there is none.
func ownConfig() string {
	home := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(home) {
		user, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		home = filepath.Join(user, ".config")
	}
	if path := filepath.Join(home, "deskhand", ConfigName); isFile(path) {
		return path
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// sameFolder reports whether two paths resolve to the same folder.
func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}
