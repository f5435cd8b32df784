package main

import (
	"fmt"
	"slices"
	"strings"

	installation "github.com/deskhand/deskhand/runtime/app"
)

// groups are the groups of tools asked for, in order.
func (a *app) groups() (served []string, err error) {
	for name := range strings.SplitSeq(a.settings.get("tools"), ",") {
		if name = strings.TrimSpace(name); !slices.Contains(installation.Groups, name) {
			return nil, misuse(fmt.Sprintf("unknown group of tools %q", name), "name some of "+strings.Join(installation.Groups, ", ")+", with commas between")
		}
		served = append(served, name)
	}
	return served, nil
}
