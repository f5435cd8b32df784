package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// setting is a value that a flag, the environment or the configuration file
// gives, in that order. Its key in the file is its name with "_" for "-", its
// variable DESKHAND_ and the same in capitals.
type setting struct {
	name, fallback, usage string
	list                  bool // several values
	secret                bool // masked when shown; never a flag
}

// shared are the settings that more than one command reads, or that describe
// an installation.
var shared = []setting{
	{name: "index", fallback: filepath.Join(".deskhand", "index"), usage: "folder of the index"},
	{name: "state", usage: "state folder (default: $XDG_STATE_HOME/deskhand)"},
	{name: "log-level", fallback: "info", usage: "debug, info, warn or error"},
	{name: "log-format", fallback: "text", usage: "text or json"},
	{name: "token", usage: "bearer token of the HTTP server", secret: true},
	{name: "tools", fallback: "docs", usage: "groups of tools to serve"},
	{name: "tool-prefix", usage: "put before every tool name, as in acme_search_docs"},
	{name: "name", usage: "name the server gives itself (default: deskhand, or PREFIX-docs-server)"},
	{name: "max-answer-bytes", fallback: "65536", usage: "bytes of text that an answer may have"},
	{name: "allow-host", usage: "further Host name that HTTP requests may carry (repeat)", list: true},
	{name: "allow-origin", usage: "further Origin that HTTP requests may come from (repeat)", list: true},
}

// settings are the effective values of one run.
type settings struct {
	viper *viper.Viper
	flag  *pflag.FlagSet
	file  string // path of the configuration file; empty: none
}

// flags declares what every command takes.
func (s *settings) flags(f *pflag.FlagSet) {
	f.String("config", "", "configuration file (default: deskhand.yaml upward from here)")
	for _, name := range []string{"state", "log-level", "log-format"} {
		declare(f, name)
	}
}

// declare adds the flag of a shared setting.
func declare(f *pflag.FlagSet, name string) {
	for _, s := range shared {
		switch {
		case s.name != name:
		case s.list:
			f.StringArray(s.name, nil, s.usage)
		default:
			f.String(s.name, s.fallback, s.usage)
		}
	}
}

func key(name string) string { return strings.ReplaceAll(name, "-", "_") }

func variable(name string) string { return "DESKHAND_" + strings.ToUpper(key(name)) }

// load reads the configuration file and binds the flags of cmd.
func (s *settings) load(cmd *cobra.Command) error {
	s.viper, s.flag = viper.New(), cmd.Flags()
	for _, one := range shared {
		s.viper.SetDefault(key(one.name), one.fallback)
		if err := s.viper.BindEnv(key(one.name), variable(one.name)); err != nil {
			return err
		}
		if f := s.flag.Lookup(one.name); f != nil && f.Changed {
			s.viper.Set(key(one.name), flagValue(f))
		}
	}
	path, given := "", false
	if f := s.flag.Lookup("config"); f != nil && f.Changed {
		path, given = f.Value.String(), true
	} else if path = os.Getenv("DESKHAND_CONFIG"); path != "" {
		given = true
	} else {
		path = findConfig()
	}
	if path == "" {
		return nil
	}
	s.viper.SetConfigFile(path)
	s.viper.SetConfigType("yaml")
	if err := s.viper.ReadInConfig(); err != nil {
		if given && errors.Is(err, os.ErrNotExist) {
			return misuse("no configuration file "+path, "name a file that exists with --config")
		}
		return misuse(fmt.Sprintf("read configuration %s: %v", path, err), "correct the file, or name another with --config")
	}
	s.file = path
	return nil
}

func flagValue(f *pflag.Flag) any {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return f.Value.String()
}

// findConfig looks for deskhand.yaml from the working directory upward, then in
// the user's configuration folder; "" if there is none.
func findConfig() string {
	const name = "deskhand.yaml"
	if dir, err := os.Getwd(); err == nil {
		for {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
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
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		home = filepath.Join(user, ".config")
	}
	path := filepath.Join(home, "deskhand", name)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path
	}
	return ""
}

// get is the value of a setting; blank variables count as unset.
func (s *settings) get(name string) string { return strings.TrimSpace(s.viper.GetString(key(name))) }

func (s *settings) list(name string) []string { return s.viper.GetStringSlice(key(name)) }

func (s *settings) int(name string) (int, error) {
	var n int
	if _, err := fmt.Sscanf(s.get(name), "%d", &n); err != nil || n <= 0 || fmt.Sprint(n) != s.get(name) {
		return 0, misuse(fmt.Sprintf("%s is %q, not a positive number", name, s.get(name)), "correct "+s.origin(name))
	}
	return n, nil
}

// origin says where the value of a setting came from.
func (s *settings) origin(name string) string {
	if f := s.flag.Lookup(name); f != nil && f.Changed {
		return "flag --" + name
	}
	if os.Getenv(variable(name)) != "" {
		return variable(name)
	}
	if s.file != "" && s.viper.InConfig(key(name)) {
		return s.file
	}
	return "default"
}

// stateFolder is where an installation keeps what is its own.
func (s *settings) stateFolder() (string, error) {
	if dir := s.get("state"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "deskhand"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find state folder: %w", err)
	}
	return filepath.Join(home, ".local", "state", "deskhand"), nil
}

// all are the settings by name, for showing.
func (s *settings) all() []setting {
	return slices.SortedFunc(slices.Values(shared), func(a, b setting) int { return strings.Compare(a.name, b.name) })
}

// fallback is the default of a shared setting.
func (s *settings) fallback(name string) string {
	for _, one := range shared {
		if one.name == name {
			return one.fallback
		}
	}
	return ""
}

// output is where a build writes: -o, else the index that the others read.
func (s *settings) output() string {
	if f := s.flag.Lookup("output"); f != nil && f.Changed {
		return f.Value.String()
	}
	return s.get("index")
}
