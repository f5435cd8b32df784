package team

import (
	"context"
	"strconv"
	"strings"
)

// Verb is one command about people or tokens.
type Verb struct {
	Use, Short string
	Flags      []Flag
	do         func(*Command, context.Context, string) error
}

// Do runs the command with its argument, or "" if it has none.
func (v Verb) Do(c *Command, ctx context.Context, arg string) (err error) {
	if c.register, err = c.Of.Register(ctx); err != nil {
		return err
	}
	return v.do(c, ctx, arg)
}

// Flag is a flag of a command.
type Flag struct {
	Name, Usage string
	Alone       string // the value of the flag without one; empty if it needs one
	Of          func(*Command) Value
}

// Value reads a flag. It implements the interface of the command line's library.
type Value struct {
	kind string
	get  func() string
	set  func(string) error
}

// String returns the value.
func (v Value) String() string {
	if v.get == nil {
		return ""
	}
	return v.get()
}

// Set reads a value.
func (v Value) Set(text string) error { return v.set(text) }

// Type returns the kind of values, for help.
func (v Value) Type() string { return v.kind }

func text(name, usage string, of func(*Command) *string) Flag {
	return Flag{Name: name, Usage: usage, Of: func(c *Command) Value {
		return Value{"string", func() string { return *of(c) }, func(s string) error { *of(c) = s; return nil }}
	}}
}

// optional is a flag whose empty value differs from none.
func optional(name, usage string, of func(*Command) **string) Flag {
	return Flag{Name: name, Usage: usage, Of: func(c *Command) Value {
		return Value{"string", func() string {
			if *of(c) == nil {
				return ""
			}
			return **of(c)
		}, func(s string) error { *of(c) = &s; return nil }}
	}}
}

func on(name, usage string, of func(*Command) *bool) Flag {
	return Flag{Name: name, Usage: usage, Alone: "true", Of: func(c *Command) Value {
		return Value{"bool", func() string { return strconv.FormatBool(*of(c)) }, func(s string) (err error) { *of(c), err = strconv.ParseBool(s); return err }}
	}}
}

func several(name, usage string, of func(*Command) *[]string) Flag {
	return Flag{Name: name, Usage: usage + " (repeatable)", Of: func(c *Command) Value {
		return Value{"stringArray", func() string { return strings.Join(*of(c), ",") }, func(s string) error { *of(c) = append(*of(c), s); return nil }}
	}}
}

// guest is --guest.
func guest(usage string) Flag {
	return Flag{Name: "guest", Usage: usage, Alone: "true", Of: func(c *Command) Value {
		return Value{"bool", func() string { return strconv.FormatBool(c.guest != nil && *c.guest) }, func(s string) error {
			on, err := strconv.ParseBool(s)
			c.guest = &on
			return err
		}}
	}}
}

// mailTo is --mail.
func mailTo(usage string) Flag {
	return Flag{Name: "mail", Usage: usage, Of: func(c *Command) Value {
		return Value{"string", func() string {
			if c.mail == nil {
				return ""
			}
			return *c.mail
		}, func(s string) error { c.mail = &s; return nil }}
	}}
}

// role is --role.
func role(usage string) Flag {
	return several("role", usage, func(c *Command) *[]string { return &c.roles })
}

// inProject is --project.
func inProject(usage string) Flag {
	return several("project", usage, func(c *Command) *[]string { return &c.projects })
}

// People are the commands about people.
var People = []Verb{
	{"add NAME", "Add a person, or add one to a project", []Flag{
		text("scope", "what the person's browsers may do (default: answer,docs,work:read)", func(c *Command) *string { return &c.scopes }),
		inProject("project whose member the person becomes; only members see it"),
		role("name by which the person can be asked with others, as --to role:NAME"),
		guest("the person sees only the projects of --project"),
		mailTo("e-mail address that questions for the person are sent to"),
	}, (*Command).add},
	{"set NAME", "Change a person's scopes and roles", []Flag{
		text("scope", "what the person's browsers may do from now on", func(c *Command) *string { return &c.scopes }),
		role("the person's roles, instead of those before; empty for none"),
		guest("the person sees only projects whose member the person is; --guest=false ends it"),
		optional("quiet", "hours in which only urgent questions notify the person, for example 22:00-07:00;sat-sun; empty for none", func(c *Command) **string { return &c.quiet }),
		optional("zone", "time zone of these hours, for example Europe/Berlin (default: UTC)", func(c *Command) **string { return &c.zone }),
		optional("quiet-except", "priority that notifies the person all the same: low, normal, high or urgent (default: urgent)", func(c *Command) **string { return &c.except }),
		mailTo("e-mail address that questions for the person are sent to; empty for none"),
	}, (*Command).set},
	{"list", "List the people", []Flag{on("json", "print an array of people", func(c *Command) *bool { return &c.json })}, (*Command).list},
	{"invite NAME", "Print a link that signs a browser in as the person, once", nil, (*Command).invite},
	{"sign-out NAME", "Sign a person out of all browsers", nil, (*Command).signOut},
	{"remove NAME", "Remove a person, with all sessions and tokens", []Flag{inProject("only end the person's membership of this project")}, (*Command).remove},
}

// Tokens are the commands about tokens.
var Tokens = []Verb{
	{"create", "Create a token, and print it", []Flag{
		text("for", "the person whose token it is", func(c *Command) *string { return &c.person }),
		text("scope", "what it opens, separated by commas: ask, answer, docs, work:read, work:start, work:land, admin", func(c *Command) *string { return &c.scopes }),
		text("expires", "when it ends: 12h, 90d, a date or a time (default: never)", func(c *Command) *string { return &c.expires }),
		inProject("project that it is for; it sees no other"),
	}, (*Command).create},
	{"list", "List the tokens, without their secrets", []Flag{on("json", "print an array of tokens", func(c *Command) *bool { return &c.json })}, (*Command).tokens},
	{"revoke ID", "End a token", nil, (*Command).revoke},
}

// Rules are the commands about rules of approvals.
var Rules = []Verb{
	{"add PATTERN", "Allow calls of a tool in advance, or always ask for them", []Flag{
		text("tool", "the tool's exact name (default: command)", func(c *Command) *string { return &c.tool }),
		inProject("project that the rule is for"),
		on("all-projects", "the rule is for each project that you know of", func(c *Command) *bool { return &c.everywhere }),
		text("expires", "when it ends: 8h, 3d, or never (default: 8h; with --ask: never)", func(c *Command) *string { return &c.expires }),
		on("ask", "always ask a person for such calls, whatever other rules allow", func(c *Command) *bool { return &c.ask }),
		on("json", "print the rule", func(c *Command) *bool { return &c.json }),
	}, (*Command).addRule},
	{"list", "List the rules", []Flag{
		on("all", "also list rules that have ended", func(c *Command) *bool { return &c.all }),
		on("json", "print an array of rules", func(c *Command) *bool { return &c.json }),
	}, (*Command).listRules},
	{"remove ID", "Revoke a rule", []Flag{on("json", "print the rule", func(c *Command) *bool { return &c.json })}, (*Command).endRule},
}
