package ask

import (
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// A question belongs to the client that asked it, identified by its name and its
// token or principal, and to the attempt that the client runs in. The question
// still belongs to the client after a connection, process or host has gone.

// asked reports whether r is the caller's own.
func (d *Toolset) asked(r *elicit.Request, caller contract.Caller) bool {
	return r.Source.Kind == "mcp" && r.Source.Name == caller.Name && r.Source.Owner == d.owner(caller) &&
		r.Context.AttemptID == d.options.Context.AttemptID
}

// owner returns the owner recorded in the caller's questions. It is empty in an
// attempt. There, questions belong to the attempt, because each of the attempt's
// runs has a different token.
func (d *Toolset) owner(caller contract.Caller) string {
	if d.options.Context.AttemptID != "" {
		return ""
	}
	return caller.Principal
}

// foreign reports whether the caller must not see r even with its ID: r was asked
// with another token, or the caller runs in another attempt.
func (d *Toolset) foreign(r *elicit.Request, caller contract.Caller) bool {
	attempt := d.options.Context.AttemptID
	owner := d.owner(caller)
	return r.Source.Owner != "" && owner != "" && r.Source.Owner != owner ||
		attempt != "" && r.Context.AttemptID != attempt
}

// near reports whether two folders may belong to the same project, because a client
// is not always started in the same folder of a project. A server with many clients
// has no folder.
func near(a, b string) bool {
	return a == "" || b == "" || within(a, b) || within(b, a)
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
