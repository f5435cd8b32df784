package settings

import (
	"github.com/deskhand/deskhand/runtime/a2a"
	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Values of the setting a2a.enabled.
const (
	agentsOn  = "true"
	agentsOff = "false"
)

// others returns the A2A settings, or nil if A2A is off.
func (s *Settings) others() (*app.Agents, error) {
	wanted, err := s.checked("a2a.enabled")
	if err != nil || wanted != agentsOn {
		return nil, err
	}
	return s.agentsSettings()
}

// agentsSettings reads the A2A settings, even if A2A is off.
func (s *Settings) agentsSettings() (*app.Agents, error) {
	g := &app.Agents{Skill: s.get("a2a.default-skill"), Project: s.get("a2a.project"),
		Executor: s.get("a2a.executor"), PushTo: s.list("a2a.push-to")}
	if err := s.check("a2a.default-skill"); err != nil {
		return nil, err
	}
	if (g.Project == "") != (g.Executor == "") || g.Skill == a2a.RunSkill && g.Project == "" {
		return nil, fault.Misuse("the skill run-task needs a project and an executor", "set both a2a.project and a2a.executor, or neither; list the executors: deskhand tasks executors")
	}
	return g, nil
}
