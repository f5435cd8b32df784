package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/fault"
)

// misuse is an error of the command line or the configuration, exit code 2.
func misuse(message, hint string) error { return fault.New("misuse", message, hint) }

// misuses are the codes of faults that such an error has: ours, and those of
// rooms for values that a command line passes on.
var misuses = []string{"misuse", "bad_dimensions", "bad_settings", "bad_option", "bad_address", "token_required", "invalid_argument", "bad_upstream", "unknown_upstream", "nothing_to_connect", "wrong_kind", "bad_key"}

// arguments checks the number of positional arguments.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return misuse(fmt.Sprintf("%s takes %s, got %s", cmd.CommandPath(), what, count(len(args), "argument")), seeHelp(cmd))
	}
}

func seeHelp(cmd *cobra.Command) string { return "see " + cmd.CommandPath() + " --help" }

// count is n and what it counts, in English.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// within refuses a number that a flag cannot have.
func within(flag string, n, low, high int) error {
	if n >= low && n <= high {
		return nil
	}
	return misuse(fmt.Sprintf("--%s must be between %d and %d, not %d", flag, low, high, n), "give a number from "+fmt.Sprintf("%d to %d", low, high))
}

// exclusive refuses more than one of some flags.
func exclusive(flags *pflag.FlagSet, names ...string) error {
	given := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !flags.Changed(name) })
	if len(given) < 2 {
		return nil
	}
	return misuse(fmt.Sprintf("--%s and --%s exclude each other", given[0], given[1]), "leave one of them out")
}

// flagError words what the library says of a flag.
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
		takes := map[string]string{"int": "a whole number", "float64": "a number", "bool": "true or false", "duration": "a time such as 90s, 10m or 2h"}[invalid.GetFlag().Value.Type()]
		return misuse(fmt.Sprintf("--%s takes %s, not %q", invalid.GetFlag().Name, takes, invalid.GetValue()), seeHelp(cmd))
	}
	return misuse(err.Error(), seeHelp(cmd))
}

func unknownFlag(cmd *cobra.Command, name string) error {
	hint := seeHelp(cmd)
	if instead, ok := movedFlags[name]; ok {
		hint = instead
	} else {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := nearest(name, known); near != "" {
			hint = "did you mean --" + near + "? " + hint
		}
	}
	return misuse("unknown flag --"+name, hint)
}

// unknownCommand words the library's error of a first argument that is none of
// the commands; any other error it returns as it is.
func unknownCommand(root *cobra.Command, err error) error {
	var name string
	if _, scan := fmt.Sscanf(err.Error(), "unknown command %q", &name); scan != nil || fault.Of(err) != nil {
		return err
	}
	if instead, ok := movedCommands[name]; ok {
		return misuse(fmt.Sprintf("unknown command %q", name), "the command is here: "+instead)
	}
	return unknownOf(root, name)
}

// unknownOf is the error of a word that is none of the commands of cmd.
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
	if near := nearest(name, known); near != "" {
		hint = "did you mean " + cmd.CommandPath() + " " + near + "? " + hint
	}
	return misuse(message, hint)
}

// nearest is the one of known that word is most likely a misspelling of, the
// first of several; "" if it looks like none.
func nearest(word string, known []string) string {
	best, least := "", 1+min(2, len(word)/3) // how many edits a misspelling may have, and one
	for _, k := range known {
		if d := edits(strings.ReplaceAll(word, "-", "_"), strings.ReplaceAll(k, "-", "_")); d < least {
			best, least = k, d
		}
	}
	return best
}

// edits is the Levenshtein distance between two words, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			same := diagonal
			if a[i] != b[j] {
				same++
			}
			diagonal, row[j+1] = row[j+1], min(same, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// didYouMean is a question about a word, set off from what stands before it;
// empty without a word.
func didYouMean(word, quote string) string {
	if word == "" {
		return ""
	}
	return ", did you mean " + quote + word + quote + "?"
}
