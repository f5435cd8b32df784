package settings

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/text"
)

// Effective is a setting as shown by "deskhand config".
type Effective struct {
	Name        string   `json:"name"`
	Value       string   `json:"value"`
	Origin      string   `json:"origin"`
	Variable    string   `json:"variable"`
	Description string   `json:"description,omitempty"`
	LeftOut     *LeftOut `json:"left_out,omitempty"`
}

// LeftOut is an ignored value in a project file.
type LeftOut struct {
	Value string `json:"value"`
	File  string `json:"file"`
	Why   string `json:"why"`
	Next  string `json:"next"`
}

// Effective returns all settings with their origins. The settings are sorted by name.
// [Settings.Check] reports invalid values.
func (s *Settings) Effective() (rows []Effective, err error) {
	for _, one := range table {
		value, err := s.shown(one)
		if err != nil {
			return nil, err
		}
		rows = append(rows, Effective{one.name, value, s.origin(one.name), variable(one.name), one.usage, nil})
	}
	if row, any := s.shownUpstreams(); any {
		rows = append(rows, row)
	}
	s.markLeftOut(rows)
	slices.SortFunc(rows, func(x, y Effective) int { return cmp.Compare(x.Name, y.Name) })
	return rows, nil
}

// Names returns the names of all settings.
func Names() (names []string) {
	for _, one := range table {
		names = append(names, one.name)
	}
	return names
}

// Only returns the row of the setting that a person means by name: the setting's name,
// its key in the file, its variable, or its flag.
func Only(rows []Effective, name string) ([]Effective, error) {
	var names []string
	for _, r := range rows {
		if slices.Contains([]string{r.Name, key(r.Name), r.Variable, "--" + r.Name}, name) {
			return []Effective{r}, nil
		}
		names = append(names, r.Name)
	}
	hint := "list all settings: deskhand config"
	if near := text.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return nil, fault.Misuse(fmt.Sprintf("there is no setting %q", name), hint)
}

// How returns the ways to set a setting, in order of precedence.
func (e Effective) How() string {
	one, ok := settingOf(e.Name)
	if !ok {
		return key(e.Name) + " in deskhand.yaml" // the upstreams
	}
	ways := variable(one.name) + ", or " + key(one.name) + " in deskhand.yaml"
	if !one.secret && !one.noFlag {
		ways = "--" + one.name + ", " + ways
	}
	return ways
}

// shownUpstreams returns a row with the names of the upstreams. If no file has
// upstreams, any is false.
func (s *Settings) shownUpstreams() (row Effective, any bool) {
	row = Effective{Name: UpstreamsKey, Origin: ByDefault}
	entries, _ := s.ups.upstreams() // Check reports the error
	if len(entries) > 0 {
		row.Value, row.Origin = upstreamNames(entries), s.ups.path
	}
	p := s.project
	return row, len(entries) > 0 || p != nil && slices.ContainsFunc(p.out, func(g guarded) bool { return g.name == UpstreamsKey })
}

// markLeftOut adds the ignored values from a project file to rows.
func (s *Settings) markLeftOut(rows []Effective) {
	p := s.project
	if p == nil {
		return
	}
	for i := range rows {
		for _, g := range p.out {
			if g.name == rows[i].Name {
				rows[i].LeftOut = &LeftOut{Value: g.short, File: p.path, Why: p.why, Next: p.Next()}
			}
		}
	}
}

// shown returns a setting's effective value as text for people.
func (s *Settings) shown(one setting) (string, error) {
	switch {
	case one.name == "store":
		place, err := s.place()
		return store.Shown(place), err
	case one.name == "tasks.executors":
		return s.shownExecutors()
	case one.list && one.secret && len(s.list(one.name)) > 0:
		return "********", nil
	case one.list:
		return one.listed(s.list(one.name)), nil
	case one.secret && s.get(one.name) != "":
		return "********", nil
	case one.name == "state":
		return s.StateDir()
	case one.name == "cache":
		return s.cacheFolder(), nil
	case one.name == "name":
		return s.serverName(), nil
	}
	return s.get(one.name), nil
}
