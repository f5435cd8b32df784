package box

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// engines are the programs that run containers, the first that is there.
var engines = []string{"docker", "podman"}

// engine is the one that is here; empty: there is none.
func engine() string {
	for _, e := range engines {
		if _, err := exec.LookPath(e); err == nil {
			return e
		}
	}
	return ""
}

// container is a command line of docker or podman. What is not in the image is
// not there: the agent's program, and git, have to be in it.
func (p Policy) container(dir string, inner, env []string) ([]string, error) {
	engine := cmp.Or(p.Engine, engine())
	if engine == "" {
		return nil, fault.New(SandboxUnavailable, "neither docker nor podman is on the path", "install one of them, or set tasks.sandbox to auto")
	}
	if p.Image == "" {
		return nil, fault.New(SandboxUnavailable, "there is no image for the container", "set tasks.sandbox_image to one that has git and the agent")
	}
	network := "host" // the attempt's own tools are on loopback
	if p.Network.Closed {
		network = "none"
	}
	line := []string{engine, "run", "--rm", "--interactive", "--init", "--network", network, "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "--workdir", dir, "--tmpfs", "/tmp:exec"}
	if p.Home != "" {
		line = append(line, "--tmpfs", p.Home+":exec,mode=1777")
	}
	mount := func(path, how string) {
		line = append(line, "--mount", "type=bind,source="+path+",target="+path+how)
	}
	var shown []string
	for _, one := range p.parts() {
		switch one.what {
		case read:
			mount(one.path, ",readonly")
			shown = append(shown, one.path)
		case write:
			mount(one.path, "")
			shown = append(shown, one.path)
		case hide, seal: // what is around it is not there, unless it was mounted
			within := func(dir string) bool { return strings.HasPrefix(one.path, dir+"/") }
			if one.path != p.Home && isFolder(one.path) && slices.ContainsFunc(shown, within) {
				line = append(line, "--tmpfs", one.path)
			}
		}
	}
	mount(p.Temp, ",readonly")
	if filepath.IsAbs(p.Self[0]) {
		mount(p.Self[0], ",readonly")
	}
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); name != "PATH" { // the image knows better
			line = append(line, "--env", name)
		}
	}
	return append(append(line, p.Image), inner...), nil
}
