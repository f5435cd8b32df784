package executor

import (
	"fmt"
	"os/exec"
	"slices"

	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// containerKind runs another executor's agent in a container, and kubernetesKind runs it
// in a Job. [New] merges their configuration with that of the other executor, whose kind
// then does the work; the caller's [Spec.Box] starts the container.
var (
	containerKind = kind{
		name: "container",
		check: func(c Config) string {
			if c.Container.Engine == box.Kubectl {
				return "container.engine is " + box.Kubectl + ": use the kind kubernetes"
			}
			return c.checkContainer()
		},
		can: func(Config) Info { return Info{} }, // those of the agent's kind apply
	}
	kubernetesKind = kind{
		name: "kubernetes",
		check: func(c Config) string {
			if c.Container.Engine != "" && c.Container.Engine != box.Kubectl {
				return "container.engine does not apply to it"
			}
			c.Container.Engine = box.Kubectl
			return c.checkContainer()
		},
		can: func(Config) Info { return Info{} },
	}
)

// inImage returns the kind of an agent that runs in a container, or nil.
func (c Config) inImage() *kind {
	for _, k := range []*kind{&containerKind, &kubernetesKind} {
		if k.name == c.Kind {
			return k
		}
	}
	return nil
}

// checkContainer describes what is wrong with the configuration of a container, or
// returns "".
func (c Config) checkContainer() string {
	switch {
	case c.Agent == "":
		return "it has no agent; name the executor that runs in the container"
	case c.Container.Image == "":
		return "it has no container.image"
	case c.Sandbox != "":
		return "sandbox does not apply to it: the container is its sandbox"
	case c.URL != "" || len(c.Headers) > 0:
		return "url and headers do not apply to it"
	case c.Container.Engine == box.Kubectl && len(c.Container.Claims) == 0:
		return "it has no container.claims, so its pods would not have the attempt's folder"
	}
	if wrong := c.Container.Check(); wrong != "" {
		return "container: " + wrong
	}
	return ""
}

// contain resolves the configurations of agents in containers.
func (t *Table) contain() error {
	for id, c := range t.configs {
		if c.inImage() == nil || c.runs != "" || c.Disabled {
			continue
		}
		agent, ok := t.configs[Canonical(c.Agent)]
		switch {
		case !ok:
			return misconfigured(id, "there is no executor %q for its container", c.Agent)
		case agent.inImage() != nil:
			return misconfigured(id, "its agent %q runs in a container itself", c.Agent)
		case agent.kind().abandon != nil:
			return misconfigured(id, "its agent %q is not a program", c.Agent)
		}
		t.configs[id] = agent.contained(c)
	}
	for id, c := range t.configs {
		if c.runs == "" {
			continue
		}
		if err := checkDefault(id, c); err != nil {
			return err
		}
	}
	return nil
}

// contained returns the agent's configuration with what c changes, for a container.
func (c Config) contained(by Config) Config {
	kind := c.Kind
	c.Pass = slices.Clone(c.Pass)
	c = c.amended(by)
	c.Kind, c.runs, c.Sandbox, c.Agent, c.Container, c.Install = by.Kind, kind, "", by.Agent, by.Container, by.Install
	if c.Kind == kubernetesKind.name {
		c.Container.Engine = box.Kubectl
	}
	return c
}

// Container returns the container of an agent of kind container or kubernetes. ok is
// false for other agents.
func (t *Table) Container(id string) (c box.ContainerConfig, ok bool) {
	found := t.configs[Canonical(id)]
	return found.Container, found.runs != ""
}

// inContainer returns the command of an agent in a container. Its program is in the
// image, so it is not looked up here, and it never runs outside.
func (l *launch) inContainer() (*exec.Cmd, error) {
	if l.spec.Box == nil {
		return nil, fmt.Errorf("executor %s runs only in a container", l.id)
	}
	line, env, err := l.spec.Box(l.args, l.env, l.temp)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = l.spec.Dir, env
	return cmd, nil
}
