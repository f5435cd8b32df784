package team

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/rota"
)

// Rotas are the commands about rotas.
var Rotas = []Verb{
	{"set NAME", "Add a rota, or replace it", []Flag{
		text("file", "weekly table or iCalendar file; - reads stdin", func(c *Command) *string { return &c.file }),
		text("url", "address of a calendar in the iCalendar format, which servers fetch every 15 minutes", func(c *Command) *string { return &c.url }),
	}, (*Command).setRota},
	{"list", "List the rotas, with who is on call now and next", []Flag{on("json", "print an array of rotas", func(c *Command) *bool { return &c.json })}, (*Command).listRotas},
	{"show NAME", "Show the next shifts of a rota", []Flag{on("json", "print the rota as JSON", func(c *Command) *bool { return &c.json })}, (*Command).showRota},
	{"remove NAME", "Remove a rota", nil, (*Command).removeRota},
}

// shift is a shift in the output of the commands.
type shift struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// People are on call, by their names here. Unknown are those whom the rota names and
	// who are no people here. If there is nobody in People, everyone of the project is
	// asked.
	People  []string `json:"people"`
	Unknown []string `json:"unknown,omitempty"`
}

// rotaView is a rota in the output of the commands.
type rotaView struct {
	Name     string    `json:"name"`
	Calendar bool      `json:"calendar"`
	Fetched  time.Time `json:"fetched,omitzero"` // only with an address
	Problem  string    `json:"problem,omitempty"`
	Now      shift     `json:"now"`
	Shifts   []shift   `json:"next"`
}

func (c *Command) setRota(ctx context.Context, name string) (err error) {
	var text []byte
	switch {
	case (c.file == "") == (c.url == ""):
		return fault.Misuse("a rota comes from a file or from an address", "write --file PATH or --url ADDRESS")
	case c.file == "-":
		text, err = io.ReadAll(io.LimitReader(c.Stdin, rota.MaxBytes+1))
	case c.file != "":
		text, err = os.ReadFile(c.file)
	default:
		var fetched string
		fetched, err = people.Fetch(ctx, c.url)
		text = []byte(fetched)
	}
	if os.IsNotExist(err) {
		return fault.Misuse("there is no file "+c.file, "write the path of a weekly table or an iCalendar file")
	}
	if err != nil && c.file != "" {
		return fault.Misuse("the rota cannot be read: "+err.Error(), "write the path of a weekly table or an iCalendar file")
	}
	if err != nil {
		return err
	}
	if err := c.register.SetRota(ctx, name, string(text), c.url); err != nil {
		return err
	}
	one, err := c.register.Rota(ctx, name)
	if err != nil {
		return err
	}
	v, err := c.viewOf(ctx, one, 1)
	if err != nil {
		return err
	}
	c.Tell("the rota " + name + " is set; on call now: " + v.Now.words())
	return nil
}

func (c *Command) viewOf(ctx context.Context, one people.Rota, n int) (rotaView, error) {
	v := rotaView{Name: one.Name, Problem: one.Problem, Shifts: []shift{}}
	if one.URL != "" {
		v.Fetched = one.Fetched
	}
	all, err := c.register.List(ctx)
	if err != nil || one.Rota == nil {
		return v, err
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	v.Calendar = one.Calendar
	for i, s := range one.Shifts(time.Now(), n+1) {
		at := shift{From: s.From.UTC(), To: s.To.UTC(), People: []string{}}
		for _, who := range s.Who {
			if p := who.Match(names); p != "" {
				at.People = append(at.People, p)
			} else {
				at.Unknown = append(at.Unknown, who.String())
			}
		}
		if i == 0 {
			v.Now = at
		} else {
			v.Shifts = append(v.Shifts, at)
		}
	}
	return v, nil
}

func (s shift) words() string {
	text := strings.Join(s.People, ", ")
	if len(s.Unknown) > 0 {
		text = strings.TrimPrefix(text+", ", ", ") + strings.Join(s.Unknown, ", ") + " (no person here)"
	}
	if len(s.People) == 0 {
		text = strings.TrimPrefix(text+"; ", "; ") + "nobody: everyone of the project is asked"
	}
	return text
}

func (c *Command) listRotas(ctx context.Context, _ string) error {
	all, err := c.register.Rotas(ctx)
	if err != nil {
		return err
	}
	views := []rotaView{}
	for _, one := range all {
		v, err := c.viewOf(ctx, one, 1)
		if err != nil {
			return err
		}
		views = append(views, v)
	}
	if c.json {
		return c.JSON(views)
	}
	if len(views) == 0 {
		c.Tell("there is no rota; add one: deskhand people rota set NAME --file FILE")
		return nil
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tON CALL NOW\tUNTIL\tNEXT\tPROBLEM")
	for _, v := range views {
		next := "-"
		if len(v.Shifts) > 0 {
			next = v.Shifts[0].words()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", v.Name, v.Now.words(), day(v.Now.To), next, cmp.Or(v.Problem, "-"))
	}
	return w.Flush()
}

func (c *Command) showRota(ctx context.Context, name string) error {
	one, err := c.register.Rota(ctx, name)
	if err != nil {
		return err
	}
	v, err := c.viewOf(ctx, one, 10)
	if err != nil || c.json {
		return c.orJSON(err, v)
	}
	if v.Problem != "" {
		c.Tell("the calendar could not be fetched, so this is the one of " + day(v.Fetched) + ": " + v.Problem)
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FROM\tTO\tON CALL")
	for _, s := range append([]shift{v.Now}, v.Shifts...) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", day(s.From), day(s.To), s.words())
	}
	return w.Flush()
}

func (c *Command) removeRota(ctx context.Context, name string) error {
	if err := c.register.RemoveRota(ctx, name); err != nil {
		return err
	}
	c.Tell("the rota " + name + " is removed; open questions for it are for everyone of their project")
	return nil
}
