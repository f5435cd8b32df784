package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// configName is the configuration file's name.
const configName = "deskhand.yaml"

// configFile is a configuration file that was read.
type configFile struct {
	path   string              // empty: there is none
	values map[string][]string // by name of the setting
}

// readConfig reads the file that --config or DESKHAND_CONFIG names, else the
// one that findConfig finds. tell is called with each key that nothing reads.
func readConfig(flags *pflag.FlagSet, tell func(string)) (configFile, error) {
	path, given := env("DESKHAND_CONFIG"), true
	if f := flags.Lookup("config"); f != nil && f.Changed {
		path = f.Value.String()
	} else if path == "" {
		path, given = findConfig(), false
	}
	switch {
	case path == "" && !given:
		return configFile{}, nil
	case path == "":
		return configFile{}, misuse("--config is empty", "leave it out, or name a file")
	}
	v := viper.New()
	v.SetConfigFile(path)
	v.SetConfigType("yaml")
	if err := v.ReadInConfig(); err != nil {
		return configFile{}, unreadable(path, err)
	}
	c := configFile{path, map[string][]string{}}
	all := v.AllSettings()
	exact, err := written(path)
	if err != nil {
		return c, err
	}
	if err := c.ungroup(all, exact); err != nil {
		return c, err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		one, ok := settingOf(name)
		if !ok {
			tell(path + ": unknown key '" + name + "'" + didYouMean(nearest(name, configKeys()), "'"))
			continue
		}
		if err := c.take(one, all[name]); err != nil {
			return c, err
		}
	}
	return c, nil
}

// unreadable words the library's error of a file that is not there, or is not
// what it should be.
func unreadable(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return misuse("no configuration file "+path, "name a file that exists with --config")
	}
	reason := err.Error()
	if broken := new(viper.ConfigParseError); errors.As(err, broken) {
		reason = strings.TrimPrefix(broken.Unwrap().Error(), "yaml: ")
	}
	if strings.HasPrefix(reason, "unmarshal errors") {
		reason = "it does not consist of lines KEY: VALUE"
	}
	return misuse(fmt.Sprintf("read configuration %s: %s", path, reason), "correct the file, or name another with --config")
}

func configKeys() (keys []string) {
	for _, one := range shared {
		keys = append(keys, key(one.name))
	}
	return keys
}

// written are the file's keys as written: the library makes all of them lower
// case, also names of variables within a value.
func written(path string) (keys map[string]any, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, &keys)
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	return keys, nil
}

// ungroup puts the keys of groups beside the others, each with its group's name
// and a dot before its own. The value of a setting that is a tree is taken from
// what is written.
func (c *configFile) ungroup(all, written map[string]any) error {
	for _, one := range shared {
		group, inner, ok := strings.Cut(key(one.name), ".")
		v, there := all[group]
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
				v = tree{member(exact, name)}
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
	return misuse(fmt.Sprintf("%s: %s %s", c.path, key, why), "correct the file, or name another with --config")
}

// findConfig looks for deskhand.yaml from the working directory upward, then in
// the user's configuration folder; "" if there is none.
func findConfig() string {
	if dir, err := os.Getwd(); err == nil {
		for {
			if path := filepath.Join(dir, configName); isFile(path) {
				return path
			}
			up := filepath.Dir(dir)
			if up == dir {
				break
			}
			dir = up
		}
	}
	home := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(home) {
		user, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		home = filepath.Join(user, ".config")
	}
	if path := filepath.Join(home, "deskhand", configName); isFile(path) {
		return path
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
