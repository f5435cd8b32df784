// Package settings turns flags, environment and configuration files into one
// checked [app.Config]. A setting is a row of its table.
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

// Settings are the effective values of one run, once they were loaded.
type Settings struct {
	values  map[string]value // by name; every setting has one
	flag    *pflag.FlagSet
	file    string     // path of the nearest configuration file; empty: none
	project *Project   // nil: file is none of a project
	ups     configFile // the one whose upstreams count
	records trust.Records
	// inherited is the origin that another process of deskhand has handed over,
	// with its settings: see [tasks.Inherit]. Empty: nothing was handed over.
	inherited string
}

// value is what a setting has: one text, or any number for a list.
type value struct {
	texts  []string
	origin string // for people, such as "flag --index"
}

// ByDefault is the origin of a value that nobody gave.
const ByDefault = "default"

// Flags declares what every command takes.
func Flags(f *pflag.FlagSet) {
	f.BoolP("help", "h", false, "say how a command is used")
	f.String("config", "", "configuration file (default: the nearest deskhand.yaml in this or a parent folder, and your own)")
	for _, name := range everywhere {
		Declare(f, name)
	}
}

// everywhere are the settings whose flags every command takes.
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

// Env is the value of a variable; a blank one counts as unset.
func Env(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// Load finds the value of each setting, with the flags of a command. tell is
// called with what a person should know of the configuration files.
func (s *Settings) Load(flags *pflag.FlagSet, tell func(string)) error {
	*s = Settings{flag: flags, values: map[string]value{}, inherited: s.inherited}
	paths, err := findConfig(s.flag)
	if err != nil {
		return err
	}
	if s.inherited != "" && Env("DESKHAND_CONFIG") == "" {
		paths.project = "" // there was none where the settings come from
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
			return fault.Misuse("--"+one.name+" is empty", "leave it out for the default, "+one.fallback)
		}
		s.values[one.name] = v
	}
	s.ups = base
	if state, err := s.StateDir(); err == nil { // before a project says where it is
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

// resolve finds the value of a setting without the file of a project.
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

// value is what a file says of a setting, or the default.
func (c configFile) value(one setting) value {
	if texts, ok := c.values[one.name]; ok {
		return value{texts, c.path}
	}
	if one.list {
		return value{nil, ByDefault}
	}
	return value{[]string{one.fallback}, ByDefault}
}

// split cuts a text into the values of a list, at commas and white space.
func (one setting) split(text string) []string {
	if !one.list {
		return []string{text}
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// get is the value of a setting that is no list.
func (s *Settings) get(name string) string { return s.values[name].texts[0] }

func (s *Settings) list(name string) []string { return s.values[name].texts }

// origin says where the value of a setting came from.
func (s *Settings) origin(name string) string { return s.values[name].origin }

// Inherit takes over the origin that another process of deskhand hands over: see
// [tasks.Inherit]. It is called before Load.
func (s *Settings) Inherit(origin string) { s.inherited = origin }

// given says that somebody set a value, if only to the default.
func (s *Settings) given(name string) bool { return s.origin(name) != ByDefault }

// wrong is the error of a setting with a value that cannot be used. hint may be
// empty.
func (s *Settings) wrong(name, why, hint string) error {
	return fault.Misuse(fmt.Sprintf("%s is %q, %s", name, s.get(name), why), cmp.Or(hint, "correct "+s.origin(name)))
}

// StateDir is where an installation keeps what is its own.
func (s *Settings) StateDir() (string, error) {
	if dir := s.get("state"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "deskhand"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.Misuse("no folder for the state: "+err.Error(), "set HOME, or name a folder with --state or DESKHAND_STATE")
	}
	return filepath.Join(home, ".local", "state", "deskhand"), nil
}

// cacheFolder is where an installation keeps what it could get again; empty:
// the system names no such folder.
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

// Index is the folder of the index that is read.
func (s *Settings) Index() string { return s.get("index") }

// Output is where a build writes: -o, else the index that the others read.
func (s *Settings) Output() string {
	if f := s.flag.Lookup("output"); f != nil && f.Changed {
		return f.Value.String()
	}
	return s.get("index")
}
