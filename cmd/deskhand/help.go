package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	topics "github.com/deskhand/deskhand/runtime/manual"
)

// valueNames maps flags to the names of their values in help and the manual. Its keys
// are a command and flag, or only a flag. The names for settings are in the settings
// table. If a flag is in neither table, its value is called N if it is a number, or
// else TIME or TEXT.
var valueNames = map[string]string{
	"agent": "NAME", "annotation": "KEY=VALUE", "assume": "q=v", "baseline": "FILE", "branch": "BRANCH", "into": "BRANCH", "remote": "REMOTE", "by": "KINDS",
	"chart": "FILE", "client": "NAME", "chunk-by": "LEVEL", "cleanup": "COMMAND", "dev-server": "COMMAND", "config": "FILE", "copy": "GLOB",
	"cursor": "CURSOR", "default": "VALUE", "directory": "DIR", "docs-dir": "DIR", "exclude": "GLOB",
	"executor": "NAME", "facet": "KEY=VALUE", "format": "FORMAT", "from": "MODEL", "http": "ADDR", "id": "ID",
	"image": "FILE", "include": "GLOB", "key": "KEY", "label": "LABEL", "blocked-by": "TASK",
	"metadata": "FILE", "older-than": "TIME", "option": "LABEL[=id][::description]", "output": "FILE", "path": "PATH", "phrases": "FILE", "priority": "NAME",
	"project": "NAME", "questions": "FILE", "resume": "ID", "repo": "NAME", "request-id": "KEY", "scores": "FILE", "server": "COMMAND",
	"landing": "POLICY", "forge": "KIND", "forge-url": "URL", "share": "WAY", "commit-template": "TEMPLATE", "sandbox": "MODE", "sandbox-network": "HOSTS", "setup": "COMMAND", "status": "STATUS", "to": "NAME",
	"transport": "NAME", "unreachable": "WHAT", "for": "NAME", "scope": "SCOPE[,SCOPE]", "role": "NAME", "tool": "NAME", "expires": "TIME", "url": "URL", "variant": "NAME", "watch": "DIR",

	"ask format": "NAME", "ask output": "FORM", "wait output": "FORM", "index output": "OUT", "search by": "KIND", "phrases by": "SPEC", "usage by": "WORD", "usage since": "TIME", "copy to": "PLACE", "audit since": "TIME", "who": "NAME", "before": "TIME", "phrases price": "IN/OUT", "phrases max-cost": "USD", "start repo": "NAME[=BRANCH]", "start on": "LABEL", "runner labels": "LABEL,...", "add version": "VERSION", "library": "NAME",
}

// valueName returns the name of a flag's value, or "" for a flag that is either on
// or off.
func valueName(cmd *cobra.Command, f *pflag.Flag) string {
	if called, ok := ofFlag(valueNames, cmd, f); ok {
		return called
	}
	if called := settings.Called(f.Name); called != "" {
		return called
	}
	switch f.Value.Type() {
	case "bool":
		return ""
	case "string", "stringArray":
		return "TEXT"
	case "duration":
		return "TIME"
	}
	return "N"
}

// ofFlag looks up a flag of cmd in a table whose keys are a command and flag, or
// only a flag.
func ofFlag[T any](table map[string]T, cmd *cobra.Command, f *pflag.Flag) (of T, ok bool) {
	if of, ok = table[cmd.Name()+" "+f.Name]; !ok {
		of, ok = table[f.Name]
	}
	return of, ok
}

// helpCommand returns the command "deskhand help COMMAND". It does the same as
// "deskhand COMMAND --help".
func helpCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND | TOPIC]",
		Short:             "Show help for a command, or a page of the manual",
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // also works with a broken configuration file
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if of, _, err := cmd.Root().Find(args); err == nil {
				for _, sub := range of.Commands() {
					if sub.IsAvailableCommand() {
						names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
					}
				}
			}
			if len(args) == 0 {
				for _, p := range topics.Pages() {
					names = append(names, cobra.CompletionWithDesc(p.Name, p.Title))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				return of.Help()
			}
			noTopic := a.Topic(strings.Join(args, " "))
			if noTopic == nil || of.HasParent() && len(rest) == 0 {
				return noTopic
			}
			if of.HasParent() {
				return unknownOf(of, rest[0])
			}
			if near := fault.Of(unknownOf(of, args[0])); len(args) == 1 && strings.Contains(near.Hint, "did you mean") {
				return near
			}
			return noTopic
		},
	}
}

// showHelp prints what cmd does and how to use it. The text is as wide as the
// terminal, but at most 100 columns.
func showHelp(cmd *cobra.Command, out io.Writer) {
	width := 100
	if columns, ok := console.Width(out); ok {
		width = min(width, columns)
	}
	var b strings.Builder
	console.Flow(&b, cmp.Or(cmd.Long, cmd.Short), 0, 0, width)
	b.WriteString("\nUsage:\n")
	if cmd.Runnable() && !takesCommand(cmd) {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	longest := 0
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			longest = max(longest, len(sub.Name()))
		}
	}
	groups := append(slices.Clone(cmd.Groups()), &cobra.Group{Title: "Commands"})
	for _, group := range groups {
		var rows [][2]string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() && sub.GroupID == group.ID {
				rows = append(rows, [2]string{fmt.Sprintf("  %-*s", longest, sub.Name()), sub.Short})
			}
		}
		console.Columns(&b, group.Title, rows, width)
	}
	console.Columns(&b, "Flags", flagRows(cmd, cmd.LocalFlags()), width)
	if cmd.HasParent() {
		b.WriteString("\nGlobal flags:\n  ")
		console.Flow(&b, "--"+strings.Join(flagNamesOf(cmd.InheritedFlags()), ", --")+"; for details, run \"deskhand --help\"", 2, 2, width)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nRun \"%s COMMAND --help\" for details about a command.\n", cmd.CommandPath())
	}
	if !cmd.HasParent() {
		b.WriteString("Topics: deskhand help exit-codes, deskhand help environment; all of the manual: deskhand docs\n")
	}
	io.WriteString(out, console.PainterFor(out).Headings(b.String()))
}

// flagNamesOf returns the names of the visible flags.
func flagNamesOf(flags *pflag.FlagSet) (names []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// takesCommand reports whether cmd does nothing without a subcommand.
func takesCommand(cmd *cobra.Command) bool { return strings.HasSuffix(cmd.Use, " COMMAND") }

// flagRows returns a row for each visible flag, in alphabetical order unless the set is not sorted.
func flagRows(cmd *cobra.Command, flags *pflag.FlagSet) (rows [][2]string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "      --" + f.Name
		if f.Shorthand != "" {
			name = "  -" + f.Shorthand + ", --" + f.Name
		}
		switch value := valueName(cmd, f); {
		case f.NoOptDefVal != "" && value != "":
			name += "[=" + value + "]"
		case value != "":
			name += " " + value
		}
		rows = append(rows, [2]string{name, f.Usage + ownDefault(f)})
	})
	return rows
}

// ownDefault returns a note with a flag's default. It returns "" if the default is
// empty or the flag's usage text already has it.
func ownDefault(f *pflag.Flag) string {
	if slices.Contains([]string{"", "0", "false", "[]", "0s"}, f.DefValue) || strings.Contains(f.Usage, "(default") {
		return ""
	}
	value := strings.Trim(f.DefValue, "[]")
	if f.Value.Type() == "duration" {
		value = strings.TrimSuffix(strings.TrimSuffix(value, "0s"), "h0m") // 5m, not 5m0s
	}
	return " (default: " + value + ")"
}
