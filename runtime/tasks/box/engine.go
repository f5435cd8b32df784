package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// engines lists the programs that run containers, in order of preference.
var engines = []string{"docker", "podman"}

// engine is a program that runs containers.
type engine struct {
	program string // docker or podman
	// podman reports whether the program is podman; docker may be podman's
	// emulation of it. rootless reports whether the engine runs as the user: root
	// in a container is then the user outside.
	podman, rootless bool
}

var enginesTried struct {
	sync.Mutex
	path string // value of PATH with which they were tried
	of   map[string]engine
}

// findEngine returns an engine by name, or the first engine that works. An
// installed engine may not work, for example if docker's client is installed
// without its daemon.
func findEngine(ctx context.Context, name string) (engine, error) {
	t := &enginesTried
	t.Lock()
	defer t.Unlock()
	if path := os.Getenv("PATH"); t.of == nil || t.path != path {
		t.path, t.of = path, map[string]engine{}
	}
	names := engines
	if name != "" {
		names = []string{name}
	}
	var reasons []string
	for _, n := range names {
		if e, ok := t.of[n]; ok {
			return e, nil
		}
		if _, err := exec.LookPath(n); err != nil {
			continue
		}
		e, err := tryEngine(ctx, n)
		if err == nil {
			t.of[n] = e
			return e, nil
		}
		reasons = append(reasons, fmt.Sprintf("%s: %v", n, err))
	}
	switch {
	case reasons != nil:
		return engine{}, errors.New(strings.Join(reasons, "; "))
	case name != "":
		return engine{}, errors.New(name + " is not on the path")
	}
	return engine{}, errors.New("neither docker nor podman is on the path")
}

// tryEngine calls a program. kubectl is only found: which cluster it reaches depends on
// the executor, see [EngineFor].
func tryEngine(ctx context.Context, program string) (engine, error) {
	if program == Kubectl {
		return engine{program: program}, nil
	}
	said, err := runEngine(ctx, patience, program, "info", "--format", "{{json .}}")
	said = strings.Join(strings.Fields(said), "")
	return engine{program, program == "podman" || strings.Contains(said, `"buildahVersion"`),
		strings.Contains(said, `"rootless":true`) || strings.Contains(said, "name=rootless")}, err
}

// MissingEngine returns the reason why no container can be started here, without
// calling an engine, or "". name is an engine, or "" for any.
func MissingEngine(name string) string {
	for _, e := range append(slices.Clone(engines), Kubectl) {
		if _, err := exec.LookPath(e); err == nil && (name == e || name == "" && e != Kubectl) {
			return ""
		}
	}
	if name != "" {
		return name + " is not on the path"
	}
	return "neither docker nor podman is on the path"
}

// EngineFor tries the engine of a container and returns its name. image reports
// whether the engine has the image. If it does not, the engine pulls it before
// the first run.
func EngineFor(ctx context.Context, c ContainerConfig) (name string, image bool, err error) {
	e, err := findEngine(ctx, c.Engine)
	if err != nil {
		return "", false, err
	}
	if e.program == Kubectl {
		return e.program, true, mayCreateJobs(ctx, jobPlace{c.Context, c.Namespace, ""})
	}
	_, err = runEngine(ctx, patience, e.program, "image", "inspect", "--format", "{{.Id}}", c.Image)
	return e.program, err == nil, nil
}

// mayCreateJobs asks a cluster whether kubectl's user may create Jobs.
func mayCreateJobs(ctx context.Context, at jobPlace) error {
	said, err := runEngine(ctx, patience, Kubectl, at.args("auth", "can-i", "create", "jobs.batch")...)
	if strings.TrimSpace(said) == "no" {
		return errors.New("kubectl's user may not create Jobs there")
	}
	if err != nil {
		return fmt.Errorf("kubectl: %w", err)
	}
	return nil
}

// MissingHint returns what to do if an engine is missing or does not work.
func MissingHint(name string) string {
	if name == Kubectl {
		return "install kubectl, and check its context with: kubectl auth can-i create jobs"
	}
	return "install and start docker or podman"
}

// removalPatience is how long an engine may take to kill or remove a container.
const removalPatience = 30 * time.Second

// runEngine calls an engine, and returns its output. It waits at most for the given time.
func runEngine(ctx context.Context, wait time.Duration, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var said, problems bytes.Buffer // separate, because docker info prints more than its errors
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &problems, time.Second
	err := cmd.Run()
	if why := strings.TrimSpace(problems.String()); err != nil && why != "" {
		err = errors.New(why)
	}
	return said.String(), err
}

// user returns the options that make files in mounted folders belong to the user.
func (e engine) user() []string {
	switch uid := os.Getuid(); {
	case uid < 0: // Windows
		return nil
	case e.rootless && e.podman:
		return []string{"--user", fmt.Sprintf("%d:%d", uid, os.Getgid()), "--userns", "keep-id"}
	case e.rootless:
		return []string{"--user", "0:0"} // which is the user outside
	default:
		return []string{"--user", fmt.Sprintf("%d:%d", uid, os.Getgid())}
	}
}

// engineVariables lists variables that configure an engine's program.
var engineVariables = []string{"HOME", "TMPDIR", "TMP", "TEMP", "DBUS_SESSION_BUS_ADDRESS", "REGISTRY_AUTH_FILE", "SSH_AUTH_SOCK", "STORAGE_DRIVER", "STORAGE_OPTS",
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION", "DOCKER_DEFAULT_PLATFORM",
	"KUBECONFIG", "KUBECACHEDIR", "CONTAINER_HOST", "CONTAINER_CONNECTION", "CONTAINER_SSHKEY", "CONTAINERS_CONF", "CONTAINERS_CONF_OVERRIDE", "CONTAINERS_REGISTRIES_CONF", "CONTAINERS_STORAGE_CONF"}

// configuresEngine reports whether a variable configures an engine's program. The
// program gets its value from this process, never from an agent's configuration.
// Such a variable holds no secret.
func configuresEngine(name string) bool {
	return slices.Contains(engineVariables, name) || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_")
}

// record adds a container to a record, unless there is none. A record is a file with a
// line for each container that may exist: the engine and the container's name, or the
// place of its Job. It is written before the engine is called, so a container can be
// found whenever this process is killed.
func record(record, program, name string) error {
	if record == "" {
		return nil
	}
	f, err := os.OpenFile(record, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("record a container: %w", err)
	}
	_, err = fmt.Fprintf(f, "%s %s\n", program, name)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("record a container: %w", err)
	}
	return nil
}

// RemoveContainers kills and removes the containers in a record, and then the
// record. It does nothing if there is no record. If an engine does not respond,
// the record stays.
func RemoveContainers(ctx context.Context, record string) error {
	text, err := os.ReadFile(record)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the record of containers: %w", err)
	}
	var problems []error
	for line := range strings.Lines(string(text)) {
		program, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || !strings.HasSuffix(line, "\n") || !removable(program, name) {
			continue // cut off when this process was killed, so the engine was not called
		}
		if err := removeContainer(ctx, program, name); err != nil {
			problems = append(problems, fmt.Errorf("remove container %s: %w", name, err))
		}
	}
	if problems == nil {
		problems = append(problems, os.Remove(record))
	}
	return errors.Join(problems...)
}

// removable reports whether a line of a record is complete.
func removable(program, name string) bool {
	if program == Kubectl {
		_, ok := parseJobPlace(name)
		return ok
	}
	return slices.Contains(engines, program) && strings.HasPrefix(name, containerPrefix) && networkForm().MatchString(name)
}

// removeContainer kills and removes a container, if it exists. The engines differ:
// podman rm waits 10 s before it kills, unless it is told not to; docker rm kills,
// and some versions report an unknown container as an error.
func removeContainer(ctx context.Context, program, name string) error {
	if program == Kubectl {
		at, _ := parseJobPlace(name)
		_, err := runEngine(ctx, removalPatience, program, at.args("delete", "job", at.Name, "--ignore-not-found", "--cascade=foreground", "--grace-period=0", "--wait=true", "--timeout=25s")...)
		return err
	}
	_, _ = runEngine(ctx, removalPatience, program, "kill", "--signal", "KILL", name) // fails if it does not run
	_, err := runEngine(ctx, removalPatience, program, "rm", "--force", "--volumes", name)
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no such container") {
		return nil
	}
	if err != nil && strings.Contains(err.Error(), "no container with") { // podman: no container with name or ID ... found
		return nil
	}
	return err
}
