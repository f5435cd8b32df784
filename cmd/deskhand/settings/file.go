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

// configFile is a configuration file that was read. All that is taken from it
// comes from the same bytes.
type configFile struct {
	path   string              // empty: there is none
	data   []byte              // its bytes
	values map[string][]string // by name of the setting
}

// configPaths are the files of one run: the one that somebody chose, which
// counts alone, or else the nearest of a project and below it the user's own.
// Empty: there is none.
type configPaths struct{ chosen, project, own string }

// findConfig finds the file that --config or DESKHAND_CONFIG names, else the
// nearest deskhand.yaml and that of the user.
func findConfig(flags *pflag.FlagSet) (p configPaths, err error) {
	if f := flags.Lookup("config"); f != nil && f.Changed {
		if p.chosen = f.Value.String(); p.chosen == "" {
			return p, fault.Misuse("--config is empty", "leave it out, or name a file")
		}
		return p, nil
	}
	p.own = ownConfig()
	switch named := Env("DESKHAND_CONFIG"); {
	case named != "" && Env(DigestVariable) == "":
		return configPaths{chosen: named}, nil
	case named != "":
		p.project = named // a deskhand that found it started this one
	default:
		if dir, err := os.Getwd(); err == nil {
			p.project = projectConfig(dir)
		}
	}
	if p.own != "" && sameFolder(filepath.Dir(p.own), filepath.Dir(p.project)) {
		p.project = "" // the working directory is that of the user's own
	}
	return p, nil
}

// parseConfig takes the settings from the bytes of a file. tell is called with
// each key that nothing reads.
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
	delete(all, UpstreamsKey) // read by who needs them
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

// readConfig reads a file that needs nobody's agreement.
func readConfig(path string, tell func(string)) (configFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return configFile{}, unreadable(path, err)
	}
	return parseConfig(path, data, tell)
}

// unreadable words the library's error of a file that is not there, or is not
// what it should be.
func unreadable(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fault.Misuse("no configuration file "+path, "name a file that exists with --config")
	}
	reason := err.Error()
	if broken := new(viper.ConfigParseError); errors.As(err, broken) {
		reason = strings.TrimPrefix(broken.Unwrap().Error(), "yaml: ")
	}
	if strings.HasPrefix(reason, "unmarshal errors") {
		reason = "it does not consist of lines KEY: VALUE"
	}
	return fault.Misuse(fmt.Sprintf("read configuration %s: %s", path, reason), "correct the file, or name another with --config")
}

func configKeys() (keys []string) {
	for _, one := range table {
		keys = append(keys, key(one.name))
	}
	return keys
}

// written are the file's keys as written: the library makes all of them lower
// case, also names of variables within a value. Two that differ in case only
// would be one setting with two values, and are refused.
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

// twice finds a key that is there twice, in different case or spelling.
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

// ungroup puts the keys of groups beside the others, each with its group's name
// and a dot before its own. The value of a setting that is a tree is taken from
// what is written.
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
			return c.wrong(group, "must be a group of keys, with "+inner+" in it")
		}
		exact, _ := member(written, group).(map[string]any)
		delete(all, group)
		for name, v := range keys {
			if one, ok := settingOf(group + "." + key(name)); ok && one.tree {
				t := tree{member(exact, name)}
				if t.value == nil {
					t.value = member(written, group+"."+name) // with a dot instead of a group
				}
				v = t
			}
			all[group+"."+name] = v
		}
	}
	return nil
}

// tree is a value of any shape.
type tree struct{ value any }

// member is the value of a key in whatever case.
func member(keys map[string]any, name string) any {
	for key, v := range keys {
		if strings.EqualFold(key, name) {
			return v
		}
	}
	return nil
}

// take keeps the value of one key. A blank one counts as unset.
func (c *configFile) take(one setting, v any) error {
	if t, ok := v.(tree); ok {
		text, err := json.Marshal(t.value)
		if err != nil {
			return c.wrong(key(one.name), "must have texts as keys")
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
			return c.wrong(key(one.name), "must be one value")
		default:
			texts = append(texts, one.split(strings.TrimSpace(fmt.Sprint(item)))...)
		}
	}
	switch {
	case many && !one.list:
		return c.wrong(key(one.name), "must be one value, not a list")
	case len(texts) == 0, !one.list && texts[0] == "":
		return nil
	case one.path && strings.HasSuffix(texts[0], one.suffix) && !filepath.IsAbs(texts[0]) && !strings.Contains(texts[0], "://"):
		texts[0] = filepath.Join(filepath.Dir(c.path), texts[0])
	}
	c.values[one.name] = texts
	return nil
}

func (c *configFile) wrong(key, why string) error {
	return fault.Misuse(c.path+": "+strings.TrimSpace(key+" "+why), "correct the file, or name another with --config")
}

// projectConfig finds deskhand.yaml in dir, or in the nearest folder above that
// has one; empty: none has.
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

// ownConfig finds deskhand.yaml in the user's configuration folder; empty: there
// is none.
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

// sameFolder reports whether two paths lead to one folder.
func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}
