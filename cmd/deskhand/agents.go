package main

import (
	"github.com/deskhand/deskhand/runtime/a2a"
	installation "github.com/deskhand/deskhand/runtime/app"
)

// What the setting a2a.enabled may be.
const (
	agentsOn  = "true"
	agentsOff = "false"
)

// agentsWanted reads the setting that lets other agents ask.
func (a *app) agentsWanted() (bool, error) {
	switch a.settings.get("a2a.enabled") {
	case agentsOn:
		return true, nil
	case agentsOff:
		return false, nil
	}
	return false, a.settings.wrong("a2a.enabled", "not true or false", "")
}

// others are the settings of other agents; nil: they may not ask.
func (a *app) others() (*installation.Agents, error) {
	wanted, err := a.agentsWanted()
	if err != nil || !wanted {
		return nil, err
	}
	return a.agentsSettings()
}

// agentsSettings reads what agents would get, also if they may not ask.
func (a *app) agentsSettings() (*installation.Agents, error) {
	g := &installation.Agents{Skill: a.settings.get("a2a.default-skill"), Project: a.settings.get("a2a.project"),
		Executor: a.settings.get("a2a.executor"), PushTo: a.settings.list("a2a.push-to")}
	switch {
	case g.Skill != a2a.AskSkill && g.Skill != a2a.RunSkill:
		return nil, a.settings.wrong("a2a.default-skill", "not "+a2a.AskSkill+" or "+a2a.RunSkill, "")
	case (g.Project == "") != (g.Executor == ""), g.Skill == a2a.RunSkill && g.Project == "":
		return nil, misuse("run-task needs a project and an executor", "set a2a.project and a2a.executor, or neither; deskhand tasks executors lists them")
	}
	return g, nil
}
