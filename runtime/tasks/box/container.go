package box

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// containerPrefix begins the name of every container, and containerLabel is the
// label with the run to which it belongs.
const (
	containerPrefix = "deskhand-"
	containerLabel  = "deskhand.run"
)

// container returns a command line for docker or podman, and the environment of
// that program. line is what the container runs. The container contains only what
// is in the image, so the image must contain git and the agent's program.
//
// No value of a variable is in the command line: the engine takes the values from
// its own environment.
func (p Policy) container(dir string, line, env []string, in Inner) (outer, outerEnv []string, err error) {
	e, err := findEngine(context.Background(), p.Container.Engine)
	if err != nil {
		return nil, nil, fault.New(SandboxUnavailable, err.Error(), MissingHint(p.Container.Engine)+", or set tasks.sandbox to auto")
	}
	if p.Container.Image == "" {
		return nil, nil, fault.New(SandboxUnavailable, "there is no image for the container", "set tasks.sandbox_image to an image with git and the agent")
	}
	if wrong := p.Container.Check(); wrong != "" {
		return nil, nil, fault.New(SandboxUnavailable, "container: "+wrong, "")
	}
	if e.program == Kubectl {
		return p.job(dir, line, env, in)
	}
	name := p.containerName()
	outer = []string{e.program, "run", "--rm", "--interactive", "--init", "--name", name}
	if p.Run != "" {
		outer = append(outer, "--label", containerLabel+"="+p.runName())
	}
	outer = append(outer, "--network", p.containerNetwork(), "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		"--security-opt", "label=disable", // SELinux would hide the folders; a relabel would change the user's files
		"--workdir", dir, "--tmpfs", "/tmp:exec")
	outer = slices.Concat(outer, e.user(), p.Container.limits())
	mounts, err := p.mounts()
	if err != nil {
		return nil, nil, fault.New(SandboxUnavailable, err.Error(), "")
	}
	outer = append(outer, mounts...)
	names, outerEnv, plain := containerEnvironment(env)
	in.Env = append(plain, in.Env...)
	for _, name := range names {
		outer = append(outer, "--env", name)
	}
	inside, err := json.Marshal(in)
	if err != nil {
		return nil, nil, err
	}
	inner := slices.Concat(p.Self, []string{string(inside), "--"}, line)
	// An image's own entry point would get the command as its arguments.
	outer = append(outer, "--entrypoint", inner[0], p.Container.Image)
	return append(outer, inner[1:]...), outerEnv, record(p.Record, e.program, name)
}

// runName is the run's ID as part of a container's name.
func (p Policy) runName() string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, strings.ToLower(p.Run))
}

func (p Policy) containerNetwork() string {
	switch {
	case p.Network.Closed:
		return "none"
	case p.Container.Network != "":
		return p.Container.Network
	}
	return "host" // the attempt's tools listen on loopback
}

// containerEnvironment returns the names of the variables that the engine takes
// over from its own environment, and that environment. The variables in plain
// would change what the engine itself does, so the container sets them inside.
// They hold paths, never secrets.
func containerEnvironment(env []string) (names, engineEnv, plain []string) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name == "PATH" || configuresEngine(name) {
			engineEnv = append(engineEnv, v)
		}
	}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case name == "PATH", strings.Contains(name, "*"): // the image has its own PATH; podman takes * as a wildcard
		case configuresEngine(name):
			plain = append(plain, v)
		default:
			engineEnv = append(engineEnv, v)
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, engineEnv, plain
}

// mounts returns the engine's options for the policy's paths.
func (p Policy) mounts() (line []string, err error) {
	var shown []string
	add := func(source, target, how string) { // engines reject a path that is mounted twice
		if strings.ContainsAny(source+target, ",\"\r\n") {
			err = fmt.Errorf("%q cannot be mounted in a container: it contains a comma, a quote or a line break", source)
			return
		}
		if !slices.Contains(shown, target) {
			shown = append(shown, target)
			line = append(line, "--mount", "type=bind,source="+source+",target="+target+how)
		}
	}
	empty := func(path string, folder bool) {
		switch {
		case slices.Contains(shown, path):
		case folder:
			shown = append(shown, path)
			line = append(line, "--tmpfs", path)
		default:
			add(os.DevNull, path, ",readonly")
		}
	}
	if p.Home != "" {
		line = append(line, "--tmpfs", p.Home+":exec,mode=1777")
	}
	for _, one := range p.parts() {
		switch one.what {
		case read:
			add(one.path, one.path, ",readonly")
		case write:
			add(one.path, one.path, "")
		case hide, seal: // already hidden, unless it is inside a mounted folder
			if one.path != p.Home && isFolder(one.path) && slices.ContainsFunc(shown, func(dir string) bool { return below(one.path, dir) }) {
				empty(one.path, true)
			}
		}
	}
	add(p.Temp, p.Temp, ",readonly")
	if filepath.IsAbs(p.Self[0]) {
		add(p.Self[0], p.Self[0], ",readonly")
	}
	for _, text := range p.Container.Mounts {
		m, e := ParseMount(text)
		if e == nil {
			m, e = m.at(p.Home)
		}
		if e != nil {
			return nil, e
		}
		how := ",readonly"
		if m.Writable {
			how = ""
		}
		add(m.Source, m.Target, how)
		for _, secret := range p.Seal { // stays hidden below the mount's target too
			if real, e := filepath.EvalSymlinks(secret); e == nil && below(real, m.Source) {
				empty(filepath.Join(m.Target, strings.TrimPrefix(real, m.Source)), isFolder(real))
			}
		}
	}
	return line, err
}

// below reports whether a path is in a folder, at any depth.
func below(path, folder string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
