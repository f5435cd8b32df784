// Package team holds the commands about people and their tokens: what they do with
// the store and what they print.
package team

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/people"
)

// Command is the part that all commands share.
type Command struct {
	console.Console
	Register *people.Register
	// Link returns the address at which a browser uses an invitation, and whether
	// only this machine reaches it.
	Link func(ctx context.Context, secret string) (link string, here bool, err error)
	// Forget deletes the upstream credentials of a person who was removed: another
	// person may get the name later.
	Forget func(ctx context.Context, name string) error

	JSON            bool   // --json
	Scopes, Expires string // --scope and --expires; empty: not given
	For             string // --for
}

// Add adds a person.
func (c *Command) Add(ctx context.Context, name string) error {
	var scopes []access.Scope
	if c.Scopes != "" {
		var err error
		if scopes, err = people.ParseScopes(c.Scopes); err != nil {
			return err
		}
	}
	if err := c.Register.Add(ctx, name, scopes); err != nil {
		return err
	}
	c.Tell(name + " is added. For a browser: deskhand people invite " + name + "; for a program: deskhand token create --for " + name + " --scope ask")
	return nil
}

// Remove removes a person.
func (c *Command) Remove(ctx context.Context, name string) error {
	if err := c.Register.Remove(ctx, name); err != nil {
		return err
	}
	if err := c.Forget(ctx, name); err != nil {
		return err
	}
	c.Tell(name + " is removed: every session, token and invitation of that name has ended, and its upstream credentials are deleted")
	return nil
}

// SignOut ends a person's sessions.
func (c *Command) SignOut(ctx context.Context, name string) error {
	if err := c.Register.SignOut(ctx, name); err != nil {
		return err
	}
	c.Tell("all browsers of " + name + " are signed out")
	return nil
}

// Invite prints a link.
func (c *Command) Invite(ctx context.Context, name string) error {
	if _, _, err := c.Link(ctx, ""); err != nil {
		return err // before an invitation is made that nobody can use
	}
	secret, until, err := c.Register.Invite(ctx, name)
	if err != nil {
		return err
	}
	link, here, err := c.Link(ctx, secret)
	if err != nil {
		return err
	}
	text := "the link signs one browser in as " + name + ", once, until " + until.Local().Format("2006-01-02 15:04")
	if here {
		text += ". It works only on this machine: set public_url to the address at which others reach the server"
	}
	c.Tell(text)
	_, err = fmt.Fprintln(c.Stdout, link)
	return err
}

// List prints the people.
func (c *Command) List(ctx context.Context) error {
	all, err := c.Register.List(ctx)
	if err != nil || c.JSON {
		return c.orJSON(err, all)
	}
	if len(all) == 0 {
		c.Tell("nobody was added: the owner of this installation is its only person")
		return nil
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSCOPES\tTOKENS\tADDED\tCAN ANSWER")
	for _, p := range all {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", p.Name, people.Words(p.Scopes), p.Tokens, day(p.Added), map[bool]string{true: "yes", false: "no"}[p.Reachable])
	}
	return w.Flush()
}

func (c *Command) orJSON(err error, v any) error {
	if err != nil {
		return err
	}
	return c.Console.JSON(v)
}

// Create creates a token and prints only the token on stdout.
func (c *Command) Create(ctx context.Context) error {
	if c.For == "" || c.Scopes == "" {
		return fault.Misuse("a token needs a person and what it opens", "write --for NAME --scope SCOPE[,SCOPE]; the scopes are "+people.Words(access.Scopes))
	}
	scopes, err := people.ParseScopes(c.Scopes)
	if err != nil {
		return err
	}
	expires, err := people.ParseExpiry(c.Expires, time.Now())
	if err != nil {
		return err
	}
	secret, t, err := c.Register.CreateToken(ctx, c.For, scopes, expires)
	if err != nil {
		return err
	}
	text := t.ID + " for " + t.For + ": " + people.Words(t.Scopes)
	if !t.Expires.IsZero() {
		text += ", until " + t.Expires.Local().Format("2006-01-02 15:04")
	}
	c.Tell(text + ". It is shown only now")
	_, err = fmt.Fprintln(c.Stdout, secret)
	return err
}

// Revoke ends a token.
func (c *Command) Revoke(ctx context.Context, id string) error {
	t, err := c.Register.Revoke(ctx, id)
	if err != nil {
		return err
	}
	c.Tell(t.ID + " of " + t.For + " is revoked")
	return nil
}

// Tokens prints the tokens.
func (c *Command) Tokens(ctx context.Context) error {
	all, err := c.Register.Tokens(ctx)
	if err != nil || c.JSON {
		return c.orJSON(err, all)
	}
	if len(all) == 0 {
		c.Tell("no token was created")
		return nil
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tFOR\tSCOPES\tCREATED\tLAST USED\tSTATE")
	for _, t := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.For, people.Words(t.Scopes), day(t.Created), day(t.Used), state(t, time.Now()))
	}
	return w.Flush()
}

func state(t people.Token, now time.Time) string {
	switch why := t.Ended(now); {
	case why != "":
		return strings.TrimPrefix(why, "token_")
	case t.Expires.IsZero():
		return "valid"
	}
	return "valid until " + day(t.Expires)
}

func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}
