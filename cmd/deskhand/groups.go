package main

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Groups of tools that --tools can name: those that this version serves, and
// those that a command line for another version may name.
var (
	servedGroups = []string{"docs", "ask"}
	otherGroups  = []string{"work"}
)

// groups are the groups of tools asked for, in order, by whether this version
// serves them.
func (a *app) groups() (served, missing []string, err error) {
	for name := range strings.SplitSeq(a.settings.get("tools"), ",") {
		switch name = strings.TrimSpace(name); {
		case slices.Contains(servedGroups, name):
			served = append(served, name)
		case slices.Contains(otherGroups, name):
			missing = append(missing, name)
		default:
			all := slices.Concat(servedGroups, otherGroups)
			return nil, nil, misuse(fmt.Sprintf("unknown group of tools %q", name), "name some of "+strings.Join(all, ", ")+", with commas between")
		}
	}
	return served, missing, nil
}

// tools are the groups to serve. It logs which others this version cannot.
func (a *app) tools(log *slog.Logger) (served []string, err error) {
	served, missing, err := a.groups()
	if len(missing) > 0 {
		log.Warn("this version does not have these tools yet, nothing is served for them", "groups", strings.Join(missing, ","))
	}
	return served, err
}
