package main

import (
	"fmt"
	"slices"
	"strings"
)

// servedGroups are the groups of tools that --tools can name.
var servedGroups = []string{"docs", "ask", "work"}

// groups are the groups of tools asked for, in order.
func (a *app) groups() (served []string, err error) {
	for name := range strings.SplitSeq(a.settings.get("tools"), ",") {
		if name = strings.TrimSpace(name); !slices.Contains(servedGroups, name) {
			return nil, misuse(fmt.Sprintf("unknown group of tools %q", name), "name some of "+strings.Join(servedGroups, ", ")+", with commas between")
		}
		served = append(served, name)
	}
	return served, nil
}
