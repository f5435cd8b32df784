package ask

import (
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// A question belongs to the client that asked, by its name and its token or
// principal, and to the attempt that it runs in. Connections, processes and
// hosts end, and what they asked is still the client's.

// asked reports whether r is the caller's own.
func (d *Toolset) asked(r *elicit.Request, caller contract.Caller) bool {
	return r.Source.Kind == "mcp" && r.Source.Name == caller.Name && r.Source.Owner == d.owner(caller) &&
		r.Context.AttemptID == d.options.Context.AttemptID
}

// owner is whose questions the caller's are. Those of an attempt are the
// attempt's: each of its runs has a token of its own.
func (d *Toolset) owner(caller contract.Caller) string {
	if d.options.Context.AttemptID != "" {
		return ""
	}
	return caller.Principal
}

// foreign reports whether the caller must not see r even if it has its ID: r was
// asked with another token, or the caller runs in another attempt.
func (d *Toolset) foreign(r *elicit.Request, caller contract.Caller) bool {
	attempt := d.options.Context.AttemptID
	owner := d.owner(caller)
	return r.Source.Owner != "" && owner != "" && r.Source.Owner != owner ||
		attempt != "" && r.Context.AttemptID != attempt
}

// near reports whether two folders may be of one project: a client is not always
// started in the same folder of it. A server that many share has none.
func near(a, b string) bool {
	return a == "" || b == "" || within(a, b) || within(b, a)
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
