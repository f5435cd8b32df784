package console

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/deskhand/deskhand/runtime/gateway"
)

// Connections prints a table of the connections to upstreams and forges.
func (c *Console) Connections(all []gateway.Connection) error {
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tAT\tCREDENTIAL\tCONNECTED\tTOOLS")
	for _, c := range all {
		of := string(c.Scope)
		if c.Scope != gateway.NoScope {
			of += ", " + string(c.Kind)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\n", c.Name, c.At, of, connected(c), c.Tools)
	}
	return w.Flush()
}

func connected(c gateway.Connection) string {
	switch {
	case c.Scope == gateway.NoScope:
		return "-"
	case !c.Connected:
		return "no"
	}
	said := "since " + c.Since.Local().Format("2006-01-02 15:04")
	if !c.Expires.IsZero() && !c.Renews {
		said += ", until " + c.Expires.Local().Format("2006-01-02 15:04")
		if time.Now().After(c.Expires) {
			said = "ended " + c.Expires.Local().Format("2006-01-02 15:04")
		}
	}
	return said
}
