package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/console/team"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

func peopleCommand(a *app) *cobra.Command {
	cmd := group("people COMMAND", "Add people who may answer, and invite them",
		"  deskhand people add ada\n  deskhand people invite ada\n  deskhand people list --json")
	rota := group("rota COMMAND", "Set who is on call, for questions to rota:NAME", "  deskhand people rota set ops --file ops.txt\n  deskhand people rota list")
	rota.AddCommand(a.ofTeam(team.Rotas)...)
	cmd.AddCommand(append(a.ofTeam(team.People), rota)...)
	return cmd
}

func tokenCommand(a *app) *cobra.Command {
	cmd := group("token COMMAND", "Create and revoke tokens for programs of a person",
		"  deskhand token create --for ada --scope ask,docs --expires 90d\n  deskhand token list\n  deskhand token revoke tok_k3vdj1xg0s8w")
	cmd.AddCommand(a.ofTeam(team.Tokens)...)
	return cmd
}

func outboxCommand(a *app) *cobra.Command {
	cmd := group("outbox COMMAND", "Show, retry and drop messages to people that could not be sent",
		"  deskhand outbox list\n  deskhand outbox retry msg_0b7c61d3a8f2e4c19d55")
	cmd.AddCommand(a.ofTeam(team.Outbox)...)
	return cmd
}

func rulesCommand(a *app) *cobra.Command {
	cmd := group("rules COMMAND", "Allow agents' calls in advance, or always ask for them",
		"  deskhand rules add 'go test *' --project shop\n  deskhand rules add 'git push' --ask --all-projects\n  deskhand rules list\n  deskhand rules remove rul_k3vdj1xg0s8w")
	cmd.AddCommand(a.ofTeam(team.Rules)...)
	return cmd
}

// group returns a command that only has commands.
func group(use, short, example string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Example: example, Args: arguments(1, 1000, "a command"),
		RunE: func(cmd *cobra.Command, args []string) error { return unknownOf(cmd, args[0]) }}
}

// named checks the arguments of a command with at most one, by its usage.
func named(use string, n int) cobra.PositionalArgs {
	_, what, _ := strings.Cut(use, " ")
	check := arguments(n, n, map[string]string{"": "no arguments", "NAME": "one name", "ID": "one ID", "PATTERN": "one pattern"}[what])
	return func(cmd *cobra.Command, args []string) error {
		if what == "PATTERN" && len(args) > 1 {
			return misuse(cmd.CommandPath()+" takes one pattern, got "+textutil.Count(len(args), "argument"), "put the pattern into quotes: '"+strings.Join(args, " ")+"'")
		}
		return check(cmd, args)
	}
}

// ofTeam returns the commands about people or tokens.
func (a *app) ofTeam(verbs []team.Verb) (all []*cobra.Command) {
	for _, verb := range verbs {
		c, n := &team.Command{}, strings.Count(verb.Use, " ")
		cmd := &cobra.Command{Use: verb.Use, Short: verb.Short, Args: named(verb.Use, n), RunE: func(cmd *cobra.Command, args []string) error {
			all := a.installation(nil)
			defer all.Close()
			c.Console, c.Of = a.Console, all
			err := verb.Do(c, cmd.Context(), append(args, "")[0])
			return attempts.New(&a.Console, attempts.Options{Hints: workHints}).Worded(err) // a former person's attempt may run
		}}
		for _, f := range verb.Flags {
			cmd.Flags().Var(f.Of(c), f.Name, f.Usage)
			cmd.Flags().Lookup(f.Name).NoOptDefVal = f.Alone
		}
		all = append(all, cmd)
	}
	return all
}
