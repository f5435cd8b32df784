package box

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/runtime/fault"
)

// engines lists the programs that run containers, in order of preference.
var engines = []string{"docker", "podman"}

var engineTried struct {
	sync.Mutex
	path, name string // value of PATH, and the engine that works with that value
}

// workingEngine returns the first engine that works. An installed engine may
// not work, for example if docker's client is installed without its daemon.
func workingEngine(ctx context.Context) (string, error) {
	t := &engineTried
	t.Lock()
	defer t.Unlock()
	if t.name != "" && t.path == os.Getenv("PATH") {
		return t.name, nil
	}
	var reasons []string
	for _, e := range engines {
		if _, err := exec.LookPath(e); err != nil {
			continue
		}
		err := runQuietly(ctx, e, "info", "--format", "{{.}}")
		if err == nil {
			t.path, t.name = os.Getenv("PATH"), e
			return e, nil
		}
		reasons = append(reasons, fmt.Sprintf("%s: %v", e, err))
	}
	if reasons == nil {
		return "", errors.New("neither docker nor podman is on the path")
	}
	return "", errors.New(strings.Join(reasons, "; "))
}

// container returns a command line for docker or podman. The container contains
// only what is in the image, so the image must contain git and the agent's
// program.
func (p Policy) container(dir string, inner, env []string) ([]string, error) {
	engine, err := p.Engine, error(nil)
	if engine == "" {
		engine, err = workingEngine(context.Background())
	}
	if err != nil {
		return nil, fault.New(SandboxUnavailable, err.Error(), "install and start docker or podman, or set tasks.sandbox to auto")
	}
	if p.Image == "" {
		return nil, fault.New(SandboxUnavailable, "there is no image for the container", "set tasks.sandbox_image to an image with git and the agent")
	}
	network := "host" // the attempt's tools listen on loopback
	if p.Network.Closed {
		network = "none"
	}
	line := []string{engine, "run", "--rm", "--interactive", "--init", "--network", network, "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "--workdir", dir, "--tmpfs", "/tmp:exec"}
	if engine == "podman" && os.Getuid() != 0 {
		line = append(line, "--userns", "keep-id") // otherwise the user's files would belong to root inside
	}
	if p.Home != "" {
		line = append(line, "--tmpfs", p.Home+":exec,mode=1777")
	}
	var shown []string
	mount := func(path, how string) { // engines reject a path that is mounted twice
		if slices.Contains(shown, path) {
			return
		}
		shown = append(shown, path)
		line = append(line, "--mount", "type=bind,source="+path+",target="+path+how)
	}
	for _, one := range p.parts() {
		switch one.what {
		case read:
			mount(one.path, ",readonly")
		case write:
			mount(one.path, "")
		case hide, seal: // already hidden, unless it is inside a mounted folder
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
		if name, _, _ := strings.Cut(v, "="); name != "PATH" { // the image has its own PATH
			line = append(line, "--env", name)
		}
	}
	return append(append(line, p.Image), inner...), nil
}
