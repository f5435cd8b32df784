package box

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeEngines returns a folder with engines that record their arguments in the file
// calls, one call a line, and answer "info" with the given text. An engine without
// text does not work.
func fakeEngines(t *testing.T, of map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, info := range of {
		script := fmt.Sprintf("#!/bin/sh\necho \"%[2]s $*\" >> %[1]s/calls\nif [ \"$1\" = info ]; then echo '%[3]s'; fi\nif [ -z '%[3]s' ]; then echo no daemon >&2; exit 1; fi\nif [ -e %[1]s/fails ]; then read -r why < %[1]s/fails; echo \"$why\" >&2; exit 1; fi\n", dir, name, info)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// calls returns the recorded calls of a verb, and forgets all.
func calls(t *testing.T, dir string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dir, "calls"))
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

const (
	podmanInfo         = `{ "host": { "buildahVersion": "1.28.2", "security": { "rootless": true } } }`
	rootPodmanInfo     = `{ "host": { "buildahVersion": "1.28.2", "security": { "rootless": false } } }`
	dockerInfo         = `{"ServerVersion":"28.2.2","SecurityOptions":["name=seccomp,profile=builtin"]}`
	rootlessDockerInfo = `{"ServerVersion":"28.2.2","SecurityOptions":["name=seccomp,profile=builtin","name=rootless"]}`
)

func TestTheCommandLineOfAContainer(t *testing.T) {
	p, home, work := policy(t)
	t.Setenv("PATH", fakeEngines(t, map[string]string{"docker": dockerInfo}))
	t.Setenv("DOCKER_HOST", "unix:///run/user/7/docker.sock")
	p.Container = ContainerConfig{Image: "agents:1", Memory: "2g", CPUs: 1.5, PIDs: 300}
	p.Run, p.Record = "Run/1", filepath.Join(t.TempDir(), "containers")
	line, env, err := p.Command(Container, work, []string{"agent", "-p"},
		[]string{"PATH=/host/bin", "KEY=secret", "HOME=" + home, "LD_PRELOAD=/evil.so", "GLOB*=x", "DOCKER_HOST=tcp://evil", "DOCKER_PASSWORD=hunter2", "DESKHAND_TOKEN=token-1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][2]string{{"--network", "host"}, {"--cap-drop", "ALL"}, {"--security-opt", "no-new-privileges"}, {"--workdir", work}, {"--env", "KEY"}, {"--env", "DOCKER_PASSWORD"}, {"--env", "DESKHAND_TOKEN"},
		{"--mount", "type=bind,source=" + work + ",target=" + work}, {"--mount", "type=bind,source=/bin/deskhand,target=/bin/deskhand,readonly"}, {"--label", "deskhand.run=run1"},
		{"--memory", "2g"}, {"--cpus", "1.5"}, {"--pids-limit", "300"}, {"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())}, {"--entrypoint", "/bin/deskhand"}, {"agents:1", "tasks"}} {
		if at(line, want[0], want[1]) < 0 {
			t.Errorf("no %q in %q", want, line)
		}
	}
	joined := strings.Join(line, "\n")
	for _, secret := range []string{"secret", "hunter2", "token-1", "source=" + home + ",", "GLOB", "tcp://evil", "/host/bin"} {
		if strings.Contains(joined, secret) {
			t.Errorf("%q is in the line %q", secret, line)
		}
	}
	for _, v := range []string{"KEY=secret", "DOCKER_PASSWORD=hunter2", "DOCKER_HOST=unix:///run/user/7/docker.sock"} {
		if !slices.Contains(env, v) {
			t.Errorf("%s is not in the engine's environment %q", v, env)
		}
	}
	if text := strings.Join(env, "\n"); strings.Contains(text, "evil") || strings.Contains(text, "/host/bin") {
		t.Errorf("an agent's variables configure the engine: %q", env)
	}
	var in Inner
	if err := json.Unmarshal([]byte(line[slices.Index(line, "boxed")+1]), &in); err != nil || !slices.Contains(in.Env, "LD_PRELOAD=/evil.so") || !slices.Contains(in.Env, "HOME="+home) || !slices.Contains(in.Env, "TMPDIR=/tmp") {
		t.Errorf("the container sets %q, %v", in.Env, err)
	}
	name := line[slices.Index(line, "--name")+1]
	if text, _ := os.ReadFile(p.Record); string(text) != "docker "+name+"\n" || !strings.HasPrefix(name, "deskhand-run1-") {
		t.Errorf("the record is %q, the name %q", text, name)
	}
	p.Network.Closed = true
	p.Container.Network = "shop_default"
	if line, _, _ = p.Command(Container, work, []string{"agent"}, nil); at(line, "--network", "none") < 0 {
		t.Errorf("closed: %q", line)
	}
	p.Container.Image = ""
	if _, _, err := p.Command(Container, work, []string{"agent"}, nil); err == nil {
		t.Error("a container without an image is no error")
	}
	p.Container.Image = "--privileged"
	if _, _, err := p.Command(Container, work, []string{"agent"}, nil); err == nil {
		t.Error("an option in place of an image is no error")
	}
}

// A container in one of the engine's networks reaches the attempt's tools through the
// relay, and everything else through that network.
func TestAContainerInANetwork(t *testing.T) {
	p, _, work := policy(t)
	t.Setenv("PATH", fakeEngines(t, map[string]string{"podman": rootPodmanInfo}))
	p.Container = ContainerConfig{Image: "agents:1", Network: "shop_default"}
	p.Network = Network{Socket: "/run/x", Ports: []int{4242}, Proxy: 4343}
	line, _, err := p.Command(Container, work, []string{"agent"}, nil)
	var in Inner
	if err == nil {
		err = json.Unmarshal([]byte(line[slices.Index(line, "boxed")+1]), &in)
	}
	if err != nil || at(line, "--network", "shop_default") < 0 || in.Socket != "/run/x" || !slices.Equal(in.Ports, []int{4242}) || in.Proxy != 0 || strings.Contains(strings.Join(in.Env, " "), "PROXY") {
		t.Errorf("line %q, %v", line, err)
	}
}

// Docker's client is often installed without its daemon.
func TestTheEngineThatWorksIsTaken(t *testing.T) {
	uid := fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
	for name, c := range map[string]struct {
		engines      map[string]string
		asked, takes string
		user         []string
	}{
		"docker":                 {map[string]string{"docker": dockerInfo, "podman": podmanInfo}, "", "docker", []string{"--user", uid}},
		"docker without daemon":  {map[string]string{"docker": "", "podman": podmanInfo}, "", "podman", []string{"--user", uid, "--userns", "keep-id"}},
		"the configured":         {map[string]string{"docker": dockerInfo, "podman": rootPodmanInfo}, "podman", "podman", []string{"--user", uid}},
		"docker without root":    {map[string]string{"docker": rootlessDockerInfo}, "", "docker", []string{"--user", "0:0"}},
		"podman's own docker":    {map[string]string{"docker": podmanInfo}, "", "docker", []string{"--user", uid, "--userns", "keep-id"}},
		"configured and missing": {map[string]string{"docker": dockerInfo}, "podman", "", nil},
		"none works":             {map[string]string{"docker": ""}, "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, work := policy(t)
			t.Setenv("PATH", fakeEngines(t, c.engines))
			p.Container = ContainerConfig{Engine: c.asked, Image: "agents:1"}
			line, _, err := p.Command(Container, work, []string{"agent"}, nil)
			if c.takes == "" {
				if err == nil {
					t.Errorf("line %q", line)
				}
				return
			}
			if err != nil || line[0] != c.takes || !strings.Contains(strings.Join(line, " "), strings.Join(c.user, " ")) || slices.Contains(line, "keep-id") != slices.Contains(c.user, "keep-id") {
				t.Errorf("line %q, %v; want %s with %q", line, err, c.takes, c.user)
			}
		})
	}
}

// Engines refuse a path that is mounted twice.
func TestThisProgramIsMountedOnce(t *testing.T) {
	p, _, work := policy(t)
	dir := fakeEngines(t, map[string]string{"podman": podmanInfo})
	t.Setenv("PATH", dir)
	p.Container.Image = "agents:1"
	p.Self = []string{filepath.Join(dir, "podman")}
	p.Read = append(p.Read, p.Self[0])
	line, _, err := p.Command(Container, work, []string{"agent"}, nil)
	mounted := 0
	for _, a := range line {
		if strings.HasSuffix(a, ",target="+p.Self[0]+",readonly") {
			mounted++
		}
	}
	if err != nil || mounted != 1 {
		t.Errorf("%s is mounted %d times: %q, %v", p.Self[0], mounted, line, err)
	}
}

// What is hidden stays hidden below a mount, wherever its target is.
func TestAttackBoxAMountHidesTheStateFolder(t *testing.T) {
	p, home, work := policy(t)
	t.Setenv("PATH", fakeEngines(t, map[string]string{"podman": podmanInfo}))
	store := filepath.Join(home, "store.db")
	if err := os.WriteFile(store, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Seal = append(p.Seal, store)
	p.Container = ContainerConfig{Image: "agents:1", Mounts: []string{"/:/host", "~/.cache:/cache:rw"}}
	line, _, err := p.Command(Container, work, []string{"agent"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][2]string{{"--mount", "type=bind,source=/,target=/host,readonly"}, {"--tmpfs", "/host" + filepath.Join(home, "state")}, {"--mount", "type=bind,source=/dev/null,target=/host" + store + ",readonly"},
		{"--mount", "type=bind,source=" + filepath.Join(home, ".cache") + ",target=/cache"}} {
		if at(line, want[0], want[1]) < 0 {
			t.Errorf("no %q in %q", want, line)
		}
	}
	p.Container.Mounts = []string{"/no/such/folder"}
	if _, _, err := p.Command(Container, work, []string{"agent"}, nil); err == nil || !strings.Contains(err.Error(), "/no/such/folder") {
		t.Errorf("a mount that does not exist: %v", err)
	}
}

// A path with a comma would end its part of --mount and begin an option.
func TestAttackBoxAPathThatWouldBeAnOption(t *testing.T) {
	p, _, work := policy(t)
	t.Setenv("PATH", fakeEngines(t, map[string]string{"podman": podmanInfo}))
	p.Container.Image = "agents:1"
	odd := filepath.Join(work, "a,target=", "x")
	if err := os.MkdirAll(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	p.Write = append(p.Write, odd)
	if line, _, err := p.Command(Container, work, []string{"agent"}, nil); err == nil {
		t.Errorf("line %q", line)
	}
}

func TestMounts(t *testing.T) {
	for text, want := range map[string]Mount{
		"/data":              {"/data", "/data", false},
		"/data:ro":           {"/data", "/data", false},
		"/data:rw":           {"/data", "/data", true},
		"/data/../x:/y/:rw":  {"/x", "/y", true},
		"~/a:/b":             {"~/a", "/b", false},
		"~/a":                {"~/a", "~/a", false},
		"/:/host":            {"/", "/host", false},
		"/srv/rw:/work:ro":   {"/srv/rw", "/work", false},
		"/a":                 {"/a", "/a", false},
		"/var/run/x.sock:rw": {"/var/run/x.sock", "/var/run/x.sock", true},
	} {
		if got, err := ParseMount(text); err != nil || got != want {
			t.Errorf("ParseMount(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "relative", "-v", "--privileged", "~", "~root/x", "a:/b", "/a:b", "/a:/b:/c", "/a:", "/", "/a:/", "/a:/proc", "/a:/sys/x", "/a:/dev/shm", "/a:/x/../dev", "/a,readonly=false", "/a\n/b", "/a\x00", "$HOME/x"} {
		if got, err := ParseMount(text); err == nil {
			t.Errorf("ParseMount(%q) = %+v, want an error", text, got)
		}
	}
}

func FuzzParseMount(f *testing.F) {
	for _, text := range []string{"/data", "/data:/x:rw", "~/a", "/a:/..", ":", "/a,b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMount(text)
		if err == nil && (strings.ContainsAny(m.Source+m.Target, ",\n\x00") || m.Target == "/" || strings.HasPrefix(m.Source, "-") || strings.HasPrefix(m.Target, "-")) {
			t.Errorf("ParseMount(%q) = %+v", text, m)
		}
	})
}

func TestAProjectChangesAContainer(t *testing.T) {
	c := ContainerConfig{Image: "agents:1", Memory: "2g", Mounts: []string{"/data"}, Projects: map[string]ContainerConfig{"shop": {Image: "shop:2", Mounts: []string{"/srv:/srv:rw"}}}}
	if got := c.For("Shop"); got.Image != "shop:2" || got.Memory != "2g" || !slices.Equal(got.Mounts, []string{"/data", "/srv:/srv:rw"}) || got.Projects != nil {
		t.Errorf("For(Shop) = %+v", got)
	}
	if got := c.For("other"); got.Image != "agents:1" || !slices.Equal(got.Mounts, []string{"/data"}) {
		t.Errorf("For(other) = %+v", got)
	}
}

func TestAContainerConfigIsChecked(t *testing.T) {
	for _, c := range []ContainerConfig{{}, {Engine: "podman", Image: "ghcr.io/acme/agents:1@sha256:abc", Network: "shop_default", Memory: "512m", CPUs: 0.5, PIDs: 9, Mounts: []string{"/data"}}} {
		if wrong := c.Check(); wrong != "" {
			t.Errorf("%+v: %s", c, wrong)
		}
	}
	for _, c := range []ContainerConfig{{Engine: "sh"}, {Image: "-v/:/host"}, {Image: "--privileged"}, {Image: "a b"}, {Image: "a\n"}, {Network: "-x"}, {Network: "container:other"}, {Network: "host"}, {Network: "none"},
		{Memory: "-1"}, {Memory: "lots"}, {CPUs: -1}, {PIDs: -1}, {Mounts: []string{"x"}},
		{Projects: map[string]ContainerConfig{"shop": {Image: "--privileged"}}}, {Projects: map[string]ContainerConfig{"Shop": {}}}} {
		if wrong := c.Check(); wrong == "" {
			t.Errorf("%+v is accepted", c)
		}
	}
}

// Only containers that this program has named are removed, and a record whose last
// line was cut off is no obstacle.
func TestRecordedContainersAreRemoved(t *testing.T) {
	dir := fakeEngines(t, map[string]string{"docker": dockerInfo, "podman": podmanInfo})
	t.Setenv("PATH", dir)
	record := filepath.Join(t.TempDir(), "containers")
	text := "docker deskhand-a-1\npodman deskhand-a-2\nsh deskhand-a-3\npodman other\npodman deskhand-$(x)\npodman deskhand-a"
	if err := os.WriteFile(record, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := RemoveContainers(context.Background(), record); err != nil {
		t.Fatal(err)
	}
	want := []string{"docker kill --signal KILL deskhand-a-1", "docker rm --force --volumes deskhand-a-1", "podman kill --signal KILL deskhand-a-2", "podman rm --force --volumes deskhand-a-2"}
	if got := calls(t, dir); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	if err := RemoveContainers(context.Background(), record); err != nil || !slices.Equal(calls(t, dir), []string{""}) {
		t.Errorf("without a record: %v", err)
	}
	for said, gone := range map[string]bool{"Error: No such container: deskhand-a-1": true, `Error: no container with name or ID "deskhand-a-1" found: no such container`: true, "Cannot connect to the daemon": false} {
		for path, text := range map[string]string{record: "docker deskhand-a-1\n", filepath.Join(dir, "fails"): said} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := RemoveContainers(context.Background(), record); (err == nil) != gone {
			t.Errorf("the engine says %q: %v", said, err)
		}
		if _, err := os.Stat(record); os.IsNotExist(err) != gone {
			t.Errorf("the engine says %q: the record: %v", said, err)
		}
	}
}
