// Package upkeep holds the commands about the store itself: its copies and its audit log.
package upkeep

import (
	"fmt"
	"text/tabwriter"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/store/backup"
	"github.com/deskhand/deskhand/runtime/text"
)

// Secrets is what a person who keeps a backup should know.
const Secrets = "note: a backup holds questions with their answers, logs of agents, and digests of tokens; sign-ins of upstreams are in it encrypted, without the key. Keep it as safe as the state folder"

// Copied prints the report of a copy: a line for each table that has rows.
func Copied(c *console.Console, r backup.Report, asJSON bool) error {
	if asJSON {
		return c.JSON(r)
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TABLE\tROWS\tDIGEST")
	empty := 0
	for _, t := range r.Tables {
		if t.Rows == 0 {
			empty++
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%s\n", t.Name, t.Rows, t.Digest)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	c.Tell(fmt.Sprintf("%s from %s are in %s, in %s; each table was read again and compared", text.Count(int(r.Rows), "row"), r.From, r.To, text.Count(len(r.Tables)-empty, "table")))
	return nil
}
