package gateway

import (
	"errors"
	"slices"

	"github.com/deskhand/deskhand/runtime/contract"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// fitting returns o without the entries that cannot be published, and logs every
// entry that it leaves out. Lists come from third parties and from a store that
// an earlier version may have filled.
func (u *upstream) fitting(o offered) offered {
	var tools []remote
	for _, r := range o.Tools {
		if contract.SchemaError(r.Output) == nil && !isObject(r.Output) {
			r.Output = nil // clients from before 2026-07-28 reject the whole list because of such a tool
		}
		if err := u.fits(r); err != nil {
			u.g.log.Warn("skipped an upstream's tool", "upstream", u.Name, "tool", textutil.Shorten(r.Name, 200), "error", err)
			continue
		}
		tools = append(tools, r)
	}
	o.Tools = tools
	o.Prompts = u.fittingEntries(contract.PromptEntry, o.Prompts)
	o.Resources = u.fittingEntries(contract.ResourceEntry, o.Resources)
	o.Templates = u.fittingEntries(contract.TemplateEntry, o.Templates)
	return o
}

// fits reports why a tool cannot be published. It returns nil if the tool can be
// published or is hidden anyway.
func (u *upstream) fits(r remote) error {
	switch {
	case !u.takes(r.Name):
		return nil
	case r.Name == "":
		return errors.New("it has no name")
	case r.Published == nil:
		return errors.New("it has no definition")
	}
	t := u.tool(r)
	return contract.Publishable(&t)
}

// isObject reports whether a schema has type object.
func isObject(schema []byte) bool {
	return string(member(schema, "type")) == `"object"`
}

func (u *upstream) fittingEntries(kind contract.EntryKind, all []entry) []entry {
	return slices.DeleteFunc(slices.Clone(all), func(e entry) bool {
		err := contract.PublishableEntry(kind, e)
		if err != nil {
			u.g.log.Warn("skipped an upstream's entry", "upstream", u.Name, "list", kind, "key", textutil.Shorten(e.Key, 200), "error", err)
		}
		return err != nil
	})
}
