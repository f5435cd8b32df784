package settings

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/usage"
)

// Prices returns the prices of models: the built-in ones with those of the setting.
func (s *Settings) Prices() (usage.Table, error) {
	changes := map[string]string{}
	if err := s.tree("prices", &changes); err != nil {
		return nil, err
	}
	return usage.NewTable(changes)
}

// pricesValid checks the prices.
func pricesValid(s *Settings, _ string) error {
	_, err := s.Prices()
	return err
}

// runningOf returns the limits of single executors, by ID.
func (s *Settings) runningOf() (map[string]int, error) {
	var limits map[string]int
	for _, one := range s.list("tasks.max-running-of") {
		id, text, _ := strings.Cut(one, "=")
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || id == "" {
			return nil, fault.Misuse(fmt.Sprintf("tasks.max_running_of has %q, not EXECUTOR=NUMBER", one), "write it as claude=2; correct "+s.origin("tasks.max-running-of"))
		}
		if limits == nil {
			limits = map[string]int{}
		}
		limits[executor.Canonical(id)] = n
	}
	return limits, nil
}

// runningOfValid checks the limits of executors.
func runningOfValid(s *Settings, _ string) error {
	_, err := s.runningOf()
	return err
}

// budgetsValid checks the budgets.
func budgetsValid(s *Settings, name string) error {
	_, err := tasks.ParseBudgets(s.list(name))
	return err
}
