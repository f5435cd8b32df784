package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/team"
)

func peopleCommand(a *app) *cobra.Command {
	cmd := group("people COMMAND", "Add people who may answer, and invite them",
		"  deskhand people add ada\n  deskhand people invite ada\n  deskhand people list --json")
	add, c := a.ofPeople("add NAME", "Add a person", 1, (*team.Command).Add)
	add.Flags().StringVar(&c.Scopes, "scope", "", "what the person's browsers may do (default: answer,docs,work:read)")
	list, c := a.ofPeople("list", "List the people", 0, func(c *team.Command, ctx context.Context, _ string) error { return c.List(ctx) })
	list.Flags().BoolVar(&c.JSON, "json", false, "print an array of people")
	invite, _ := a.ofPeople("invite NAME", "Print a link that signs a browser in as the person, once", 1, (*team.Command).Invite)
	out, _ := a.ofPeople("sign-out NAME", "Sign a person out of all browsers", 1, (*team.Command).SignOut)
	remove, _ := a.ofPeople("remove NAME", "Remove a person, with all sessions and tokens", 1, (*team.Command).Remove)
	cmd.AddCommand(add, list, invite, out, remove)
	return cmd
}

func tokenCommand(a *app) *cobra.Command {
	cmd := group("token COMMAND", "Create and revoke tokens for programs of a person",
		"  deskhand token create --for ada --scope ask,docs --expires 90d\n  deskhand token list\n  deskhand token revoke tok_k3vdj1xg0s8w")
	create, c := a.ofPeople("create", "Create a token, and print it", 0, func(c *team.Command, ctx context.Context, _ string) error { return c.Create(ctx) })
	create.Flags().StringVar(&c.For, "for", "", "the person whose token it is")
	create.Flags().StringVar(&c.Scopes, "scope", "", "what it opens, separated by commas: ask, answer, docs, work:read, work:start, work:land, admin")
	create.Flags().StringVar(&c.Expires, "expires", "", "when it ends: 12h, 90d, a date or a time (default: never)")
	list, c := a.ofPeople("list", "List the tokens, without their secrets", 0, func(c *team.Command, ctx context.Context, _ string) error { return c.Tokens(ctx) })
	list.Flags().BoolVar(&c.JSON, "json", false, "print an array of tokens")
	revoke, _ := a.ofPeople("revoke ID", "End a token", 1, (*team.Command).Revoke)
	cmd.AddCommand(create, list, revoke)
	return cmd
}

// group returns a command that only has commands.
func group(use, short, example string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Example: example, Args: arguments(1, 1000, "a command"),
		RunE: func(cmd *cobra.Command, args []string) error { return unknownOf(cmd, args[0]) }}
}

// ofPeople returns a command with n arguments, 0 or 1, and what its flags set.
func (a *app) ofPeople(use, short string, n int, do func(*team.Command, context.Context, string) error) (*cobra.Command, *team.Command) {
	c := &team.Command{}
	return &cobra.Command{Use: use, Short: short, Args: arguments(n, n, []string{"no arguments", "one name or id"}[n]), RunE: func(cmd *cobra.Command, args []string) (err error) {
		all := a.installation(nil)
		defer all.Close()
		c.Console, c.Link, c.Forget = a.Console, all.InviteLink, all.ForgetCredentials
		if c.Register, err = all.Register(cmd.Context()); err != nil {
			return err
		}
		return do(c, cmd.Context(), append(args, "")[0])
	}}, c
}
