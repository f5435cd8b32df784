// Package settings combines flags, environment variables and configuration files into
// one checked [app.Config]. Its table has a row for each setting.
package settings

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/trust"
)

// Settings holds the effective values for one run. Load sets them.
type Settings struct {
	values  map[string]value // by name; every setting has a value
	flag    *pflag.FlagSet
	file    string     // path of the nearest configuration file, or empty if there is none
	project *Project   // nil if there is no project file
	ups     configFile // the file with the upstreams
	records trust.Records
	// inherited is the origin of settings that come from another deskhand process (see
	// [tasks.Inherit]). It is empty if there are no such settings.
	inherited string
	watched   bool // the index is built by this process
}

// value is the value of a setting. It has one string, or any number of strings if
// the setting is a list.
type value struct {
	texts  []string
	origin string // text for people, for example "flag --index"
}

// ByDefault is the origin of a default value.
const ByDefault = "default"

// Flags declares the flags that every command has.
func Flags(f *pflag.FlagSet) {
	f.BoolP("help", "h", false, "show help")
	f.String("config", "", "configuration file (default: the nearest deskhand.yaml in this or a parent folder, and your own)")
	f.BoolP("quiet", "q", false, "print only the result and errors")
	for _, name := range everywhere {
		Declare(f, name)
	}
}

// everywhere lists the settings that have a flag on every command.
var everywhere = []string{"state", "log-level", "log-format"}

// Declare adds the flag of a setting.
func Declare(f *pflag.FlagSet, name string) {
	one, _ := settingOf(name)
	if one.list {
		f.StringArray(one.name, nil, one.usage)
		return
	}
	f.String(one.name, one.fallback, one.usage)
}

// Env returns an environment variable's value. A blank value is treated as unset.
func Env(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// Load determines the value of each setting. flags are the flags of the command. Load
// calls tell with messages about the configuration files.
func (s *Settings) Load(flags *pflag.FlagSet, tell func(string)) error {
	*s = Settings{flag: flags, values: map[string]value{}, inherited: s.inherited}
	paths, err := findConfig(s.flag)
	if err != nil {
		return err
	}
	if s.inherited != "" && Env("DESKHAND_CONFIG") == "" {
		paths.project = "" // the process that passed on the settings had no project file
	}
	var base configFile
	if s.file = cmp.Or(paths.chosen, paths.own); s.file != "" {
		if base, err = readConfig(s.file, tell); err != nil {
			return err
		}
	}
	for _, one := range table {
		v := s.resolve(one, base)
		if one.fallback != "" && strings.TrimSpace(v.texts[0]) == "" {
			return fault.Misuse("--"+one.name+" is empty", "omit it to use the default, "+one.fallback)
		}
		s.values[one.name] = v
	}
	s.ups = base
	if state, err := s.StateDir(); err == nil { // must be done before a project file can change the state folder
		s.records = trust.In(state)
	}
	if paths.project == "" {
		return nil
	}
	if s.project, err = s.readProject(paths.project, base, tell); err != nil {
		return err
	}
	s.file = paths.project
	s.apply(s.project)
	return nil
}

// resolve determines a setting's value without considering the project file.
func (s *Settings) resolve(one setting, file configFile) value {
	if f := s.flag.Lookup(one.name); f != nil && f.Changed {
		if list, ok := f.Value.(pflag.SliceValue); ok {
			return value{list.GetSlice(), "flag --" + one.name}
		}
		return value{[]string{f.Value.String()}, "flag --" + one.name}
	}
	if text := Env(variable(one.name)); text != "" {
		return value{one.split(text), variable(one.name)}
	}
	return file.value(one)
}

// value returns a setting's value from the file, or its default.
func (c configFile) value(one setting) value {
	if texts, ok := c.values[one.name]; ok {
		return value{texts, c.path}
	}
	if one.list {
		return value{nil, ByDefault}
	}
	return value{[]string{one.fallback}, ByDefault}
}

// split splits the string of a list setting at commas and white space.
func (one setting) split(text string) []string {
	if !one.list {
		return []string{text}
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// get returns the value of a setting that is not a list.
func (s *Settings) get(name string) string { return s.values[name].texts[0] }

func (s *Settings) list(name string) []string { return s.values[name].texts }

// origin returns where a setting's value comes from.
func (s *Settings) origin(name string) string { return s.values[name].origin }

// Inherit sets the origin of settings that come from another deskhand process
// (see [tasks.Inherit]). Call it before Load.
func (s *Settings) Inherit(origin string) { s.inherited = origin }

// given reports whether a setting was set, even to its default value.
func (s *Settings) given(name string) bool { return s.origin(name) != ByDefault }

// wrong returns the error for a setting with an invalid value. hint may be empty.
func (s *Settings) wrong(name, why, hint string) error {
	return fault.Misuse(fmt.Sprintf("%s is %q, %s", name, s.get(name), why), cmp.Or(hint, "fix "+s.origin(name)))
}

// StateDir returns the installation's state folder.
func (s *Settings) StateDir() (string, error) {
	if dir := s.get("state"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "deskhand"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.Misuse("cannot determine the state folder: "+err.Error(), "set HOME, or pass a folder with --state or DESKHAND_STATE")
	}
	return filepath.Join(home, ".local", "state", "deskhand"), nil
}

// cacheFolder returns the folder for data that can be recomputed, or "" if the system
// has no cache folder.
func (s *Settings) cacheFolder() string {
	if dir := s.get("cache"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "deskhand")
}

// Index returns the folder of the index to read.
func (s *Settings) Index() string { return s.get("index") }

// Output returns the folder that a build writes to. It is the value of -o, or
// else the folder of the index to read.
func (s *Settings) Output() string {
	if f := s.flag.Lookup("output"); f != nil && f.Changed {
		return f.Value.String()
	}
	return s.get("index")
}
