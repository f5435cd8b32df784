package settings

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/fault"
)

// DeclareAll adds the flags of all settings that have a flag, except for the flags
// that every command has.
func DeclareAll(f *pflag.FlagSet) {
	for _, one := range table {
		if !one.secret && !one.noFlag && !slices.Contains(everywhere, one.name) {
			Declare(f, one.name)
		}
	}
}

// Called returns the name of a flag's value in help. It returns "" if the flag belongs
// to no setting or its value has no name.
func Called(flag string) string {
	one, _ := settingOf(flag)
	return one.called
}

// Choices returns the allowed values of a setting's flag, or nil if all values are
// allowed.
func Choices(flag string) []string {
	one, _ := settingOf(flag)
	return one.choices
}

// Default returns a setting's default value.
func Default(name string) string {
	one, _ := settingOf(name)
	return one.fallback
}

// Exclusive returns an error if more than one of the named flags is set.
func Exclusive(flags *pflag.FlagSet, names ...string) error {
	given := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !flags.Changed(name) })
	if len(given) < 2 {
		return nil
	}
	return fault.Misuse(fmt.Sprintf("--%s and --%s exclude each other", given[0], given[1]), "omit one of them")
}
