package main

import (
	"errors"
	"fmt"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	textutil "github.com/deskhand/deskhand/runtime/text"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/people"
)

// misuse returns an error in the command line or the configuration. Its exit code is 2.
func misuse(message, hint string) error { return fault.Misuse(message, hint) }

// misuses lists the fault codes with exit code 2: those of cmd, and those that other
// packages return for values from a command line.
var misuses = []string{"misuse", "bad_dimensions", "bad_settings", "bad_option", "bad_address", "token_required", "invalid_argument", "bad_upstream", "unknown_upstream", "nothing_to_connect", "wrong_kind", "bad_key", people.BadName, people.BadScope, people.BadTime}

// arguments checks the number of positional arguments.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return misuse(fmt.Sprintf("%s takes %s, got %s", cmd.CommandPath(), what, textutil.Count(len(args), "argument")), seeHelp(cmd))
	}
}

func seeHelp(cmd *cobra.Command) string { return "see " + cmd.CommandPath() + " --help" }

// within returns an error if n, the value of a flag, is out of range.
func within(flag string, n, low, high int) error {
	if n >= low && n <= high {
		return nil
	}
	return misuse(fmt.Sprintf("--%s must be between %d and %d, not %d", flag, low, high, n), "use a number from "+fmt.Sprintf("%d to %d", low, high))
}

// flagError rewords a flag error from the library.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		needs   *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return misuse("unknown flag -"+unknown.GetSpecifiedName(), seeHelp(cmd))
	case errors.As(err, &unknown):
		return unknownFlag(cmd, unknown.GetSpecifiedName())
	case errors.As(err, &needs):
		return misuse("--"+needs.GetFlag().Name+" needs a value", seeHelp(cmd))
	case errors.As(err, &invalid):
		if err := settings.Twice(invalid); err != nil {
			return err
		}
		takes := map[string]string{"int": "an integer", "float64": "a number", "bool": "true or false", "duration": "a duration such as 90s, 10m or 2h"}[invalid.GetFlag().Value.Type()]
		return misuse(fmt.Sprintf("--%s takes %s, not %q", invalid.GetFlag().Name, takes, invalid.GetValue()), seeHelp(cmd))
	}
	return misuse(err.Error(), seeHelp(cmd))
}

func unknownFlag(cmd *cobra.Command, name string) error {
	hint := seeHelp(cmd)
	if instead, ok := settings.MovedFlags[name]; ok {
		hint = instead
	} else {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := textutil.Nearest(name, known); near != "" {
			hint = "did you mean --" + near + "? " + hint
		}
	}
	return misuse("unknown flag --"+name, hint)
}

// unknownCommand rewords the library's error for an unknown command. It returns
// other errors unchanged.
func unknownCommand(root *cobra.Command, err error) error {
	var name string
	if _, scan := fmt.Sscanf(err.Error(), "unknown command %q", &name); scan != nil || fault.Of(err) != nil {
		return err
	}
	if instead, ok := settings.MovedCommands[name]; ok {
		return misuse(fmt.Sprintf("unknown command %q", name), "use instead: "+instead)
	}
	return unknownOf(root, name)
}

// unknownOf returns the error for a word that is not a subcommand of cmd.
func unknownOf(cmd *cobra.Command, name string) error {
	var known []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			known = append(known, c.Name())
		}
	}
	message, hint := fmt.Sprintf("unknown command %q", name), seeHelp(cmd)
	if cmd.HasParent() {
		message += " of " + cmd.CommandPath()
	}
	if near := textutil.Nearest(name, known); near != "" {
		hint = "did you mean " + cmd.CommandPath() + " " + near + "? " + hint
	}
	return misuse(message, hint)
}
