package settings

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/fault"
)

// DeclareAll adds the flags of all settings that have one, but for those of every
// command.
func DeclareAll(f *pflag.FlagSet) {
	for _, one := range table {
		if !one.secret && !one.noFlag && !slices.Contains(everywhere, one.name) {
			Declare(f, one.name)
		}
	}
}

// Called is what help calls the value of a setting's flag; empty: there is no
// such setting, or nothing is said of it.
func Called(flag string) string {
	one, _ := settingOf(flag)
	return one.called
}

// Choices are the values of a setting's flag, if it takes one of a few.
func Choices(flag string) []string {
	one, _ := settingOf(flag)
	return one.choices
}

// Default is the value of a setting that nobody gives.
func Default(name string) string {
	one, _ := settingOf(name)
	return one.fallback
}

// Exclusive refuses more than one of some flags.
func Exclusive(flags *pflag.FlagSet, names ...string) error {
	given := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !flags.Changed(name) })
	if len(given) < 2 {
		return nil
	}
	return fault.Misuse(fmt.Sprintf("--%s and --%s exclude each other", given[0], given[1]), "leave one of them out")
}
