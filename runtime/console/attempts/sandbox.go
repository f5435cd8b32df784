package attempts

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// sandboxAnswer is the JSON output of tasks sandbox.
type sandboxAnswer struct {
	Asked   box.Mode    `json:"asked"`
	Network []string    `json:"network"`
	Takes   box.Mode    `json:"takes"` // empty if the configured sandbox does not work
	Why     string      `json:"why"`
	Modes   []box.Found `json:"modes"`
}

// ShowSandbox prints which sandboxes work on this machine, and which one agents use.
func ShowSandbox(ctx context.Context, c *console.Console, o tasks.Options, asJSON bool) error {
	out := sandboxAnswer{Asked: o.Sandbox, Network: o.Network, Modes: box.Find(ctx)}
	mode, why, err := box.Choose(ctx, o.Sandbox)
	if out.Takes, out.Why = mode, why; err != nil {
		out.Why = err.Error()
	}
	if asJSON {
		return c.JSON(out)
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SANDBOX\tWORKS\tNOTE")
	for _, f := range out.Modes {
		works := "no"
		if f.Works {
			works = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Mode, works, console.OneLine(f.Why))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return c.Line("agents run in  %s", tasks.Sandbox{Mode: out.Takes, Network: out.Network, Why: out.Why})
}
