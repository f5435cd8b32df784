package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/team"
)

func peopleCommand(a *app) *cobra.Command {
	cmd := group("people COMMAND", "Add people who may answer, and invite them",
		"  deskhand people add ada\n  deskhand people invite ada\n  deskhand people list --json")
	cmd.AddCommand(a.ofTeam(team.People)...)
	return cmd
}

func tokenCommand(a *app) *cobra.Command {
	cmd := group("token COMMAND", "Create and revoke tokens for programs of a person",
		"  deskhand token create --for ada --scope ask,docs --expires 90d\n  deskhand token list\n  deskhand token revoke tok_k3vdj1xg0s8w")
	cmd.AddCommand(a.ofTeam(team.Tokens)...)
	return cmd
}

// group returns a command that only has commands.
func group(use, short, example string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Example: example, Args: arguments(1, 1000, "a command"),
		RunE: func(cmd *cobra.Command, args []string) error { return unknownOf(cmd, args[0]) }}
}

// ofTeam returns the commands about people or tokens.
func (a *app) ofTeam(verbs []team.Verb) (all []*cobra.Command) {
	for _, verb := range verbs {
		c, n := &team.Command{}, strings.Count(verb.Use, " ")
		cmd := &cobra.Command{Use: verb.Use, Short: verb.Short, Args: arguments(n, n, []string{"no arguments", "one name or id"}[n]), RunE: func(cmd *cobra.Command, args []string) error {
			all := a.installation(nil)
			defer all.Close()
			c.Console, c.Of = a.Console, all
			return verb.Do(c, cmd.Context(), append(args, "")[0])
		}}
		for _, f := range verb.Flags {
			cmd.Flags().Var(f.Of(c), f.Name, f.Usage)
			cmd.Flags().Lookup(f.Name).NoOptDefVal = f.Alone
		}
		all = append(all, cmd)
	}
	return all
}
