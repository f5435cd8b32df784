package box

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// policy returns a policy for existing folders, with a home that contains a key.
func policy(t *testing.T) (p Policy, home, work string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, work = filepath.Join(root, "home"), filepath.Join(root, "home", "state", "attempts", "a1")
	for _, dir := range []string{filepath.Join(home, ".cache", "go-build"), work, filepath.Join(root, "temp"), filepath.Join(home, "src", ".git", "objects")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".agent.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Policy{
		Hide: []string{home}, Seal: []string{filepath.Join(home, "state"), filepath.Join(home, "src")}, Read: []string{filepath.Join(home, "src", ".git", "objects"), filepath.Join(home, "not-there")},
		Write: []string{work, filepath.Join(home, ".cache", "go-build")}, Copies: []string{filepath.Join(home, ".agent.json")},
		Home: home, Temp: filepath.Join(root, "temp"), Self: []string{"/bin/deskhand", "tasks", "boxed"},
	}, home, work
}

// at returns the position of two consecutive arguments, or -1.
func at(line []string, one, two string) int {
	for i := range line[:len(line)-1] {
		if line[i] == one && line[i+1] == two {
			return i
		}
	}
	return -1
}

func TestBubblewrapHidesTheHomeBeforeItShowsParts(t *testing.T) {
	p, home, work := policy(t)
	line, env, err := p.Command(Bwrap, work, []string{"/bin/agent", "-p"}, []string{"PATH=/bin", "SSH_AUTH_SOCK=/x", "HOME=" + home})
	if err != nil {
		t.Fatal(err)
	}
	order := []int{at(line, "--ro-bind", "/"), at(line, "--tmpfs", "/tmp"), at(line, "--tmpfs", home), at(line, "--tmpfs", filepath.Join(home, "state")), at(line, "--bind", work), at(line, "--remount-ro", filepath.Join(home, "state"))}
	if !slices.IsSorted(order) || order[0] < 0 {
		t.Errorf("mounts are in the order %v of %q", order, line)
	}
	if !strings.HasSuffix(strings.Join(line, " "), " -- /bin/agent -p") || strings.Contains(strings.Join(line, " "), "not-there") || slices.Contains(line, "--unshare-net") {
		t.Errorf("line %q", line)
	}
	if text := strings.Join(env, " "); strings.Contains(text, "SSH_AUTH_SOCK") || !strings.Contains(text, "TMPDIR=/tmp") || !strings.Contains(text, "HOME="+home) {
		t.Errorf("environment %q", env)
	}
	p.Network.Closed = true
	if line, _, _ = p.Command(Bwrap, work, []string{"/bin/agent"}, nil); !slices.Contains(line, "--unshare-net") {
		t.Errorf("closed: line %q", line)
	}
}

// This profile was never executed, because the tests have no macOS.
func TestTheProfileOfSandboxExec(t *testing.T) {
	p, home, work := policy(t)
	p.Network = Network{Closed: true, Ports: []int{4242}, Proxy: 4343}
	line, env, err := p.Command(Seatbelt, work, []string{"/bin/agent"}, []string{"HOME=" + home, "XDG_CACHE_HOME=/x"})
	if err != nil || line[0] != "/usr/bin/sandbox-exec" || line[1] != "-p" {
		t.Fatalf("line %q, %v", line, err)
	}
	last := -1
	for _, rule := range []string{
		"(deny file-write*)", `(deny file-read-data file-read-xattr file-write* (subpath "` + home + `"))`, `(allow file-read* (subpath "` + filepath.Join(home, "src", ".git", "objects") + `"))`,
		`(allow file-read* file-write* (subpath "` + work + `"))`, "(deny signal)", "(allow signal (target same-sandbox))", "(deny network*)", `(allow network-outbound (remote ip "localhost:4343"))`, `"localhost:4242"`,
	} {
		i := strings.Index(line[2], rule)
		if i <= last {
			t.Errorf("%s is not behind the rules before it in\n%s", rule, line[2])
		}
		last = i
	}
	if text := strings.Join(env, " "); strings.Contains(text, "XDG_") || !strings.Contains(text, "HOME="+filepath.Join(p.Temp, homeFolder)) {
		t.Errorf("environment %q", env)
	}
}

// Landlock can only allow, so everything around a hidden folder is listed.
func TestLandlockAllowsAllButWhatIsHidden(t *testing.T) {
	p, home, work := policy(t)
	r := p.landlock()
	for path, want := range map[string]bool{"/usr": true, "/": false, filepath.Dir(home): false, home: false, work: true, filepath.Join(home, "state"): false, filepath.Join(home, "src", ".git"): false, filepath.Join(home, "src", ".git", "objects"): true} {
		if got := slices.Contains(r.Read, path) || slices.Contains(r.Write, path); got != want && !(path == "/usr" && !isFolder(path)) {
			t.Errorf("%s is allowed: %v, want %v", path, got, want)
		}
	}
	for _, path := range append(r.Read, r.Write...) {
		if strings.HasPrefix(home+"/", strings.TrimSuffix(path, "/")+"/") {
			t.Errorf("%s is allowed, and home is in it", path)
		}
	}
}

// A visible folder, for example one in the search path or in sandbox_read, may contain
// hidden ones.
func TestAttackBoxAHiddenFolderInAShownOne(t *testing.T) {
	for name, show := range map[string]func(p *Policy, dir string){
		"read":  func(p *Policy, dir string) { p.Read = append(p.Read, dir) },
		"write": func(p *Policy, dir string) { p.Write = append(p.Write, dir) },
	} {
		p, home, work := policy(t)
		around := filepath.Dir(home)
		state := filepath.Join(home, "state")
		show(&p, around)
		for _, dir := range []string{"bin", "home/.config"} {
			if err := os.MkdirAll(filepath.Join(around, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		t.Run("landlock "+name, func(t *testing.T) {
			r := p.landlock()
			all := append(r.Read, r.Write...)
			for _, path := range all {
				if strings.HasPrefix(state+"/", path+"/") || strings.HasPrefix(home+"/", path+"/") || path == filepath.Join(home, ".config") {
					t.Errorf("%s is allowed, and has hidden folders in it or is in one", path)
				}
			}
			if !slices.Contains(all, filepath.Join(around, "bin")) || !slices.Contains(r.Write, work) {
				t.Errorf("read %q, write %q: want what is beside home, and %s", r.Read, r.Write, work)
			}
		})
		t.Run("container "+name, func(t *testing.T) {
			t.Setenv("PATH", fakeEngines(t, map[string]string{"docker": "{}"}))
			p.Container.Image = "agents:1"
			line, _, err := p.Command(Container, work, []string{"agent"}, nil)
			if err != nil || at(line, "--tmpfs", state) < 0 || !slices.ContainsFunc(line, func(a string) bool { return strings.HasPrefix(a, home+":") }) {
				t.Errorf("line %q, %v: %s is not hidden", line, err, state)
			}
		})
	}
}

// A hidden folder that is itself in the search path would be visible as a whole.
func TestAttackBoxAHiddenFolderOnTheSearchPath(t *testing.T) {
	home := t.TempDir()
	repo, bin := filepath.Join(home, "src", "shop"), filepath.Join(home, "bin")
	for _, dir := range []string{repo, bin, filepath.Join(home, "lib")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(home, "link")
	if err := os.Symlink(repo, link); err != nil {
		t.Skip("NOT TESTED: no symbolic links here:", err)
	}
	hidden := []string{home, repo, filepath.Dir(home)}
	for name, path := range map[string]string{"home": home, "the repository": repo, "a link to it": link, "all that home has, for its bin and lib": bin} {
		t.Run(name, func(t *testing.T) {
			for _, dir := range Programs(path, "", hidden) {
				if slices.Contains(hidden, dir) || dir == link {
					t.Errorf("%s is shown", dir)
				}
			}
		})
	}
	if got := Programs(bin, "", hidden); !slices.Equal(got, []string{bin}) {
		t.Errorf("programs of %s: %q", bin, got)
	}
}

func TestWhatATrialSaysIsItsError(t *testing.T) {
	engine := filepath.Join(t.TempDir(), "docker")
	if err := os.WriteFile(engine, []byte("#!/bin/sh\necho '{0xc0 [] map[]}'\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := runQuietly(t.Context(), engine, "info"); err == nil || err.Error() != "Cannot connect to the Docker daemon" {
		t.Errorf("try = %v", err)
	}
}

func TestPathsOfTables(t *testing.T) {
	env := map[string]string{"XDG_CACHE_HOME": "/big/cache", "EMPTY": ""}
	home := t.TempDir()
	got := Expand([]string{"~/.x", "$XDG_CACHE_HOME/go", "$XDG_DATA_HOME/y", "$EMPTY/z", "$EMPTY", "relative", "~/made/"}, home, func(n string) string { return env[n] })
	want := []string{home + "/.x", "/big/cache/go", home + "/.local/share/y", home + "/made"}
	if !slices.Equal(got, want) || !isFolder(home+"/made") {
		t.Errorf("Expand = %q, want %q", got, want)
	}
	if len(Tools().Read) == 0 || len(Tools().Write) == 0 {
		t.Error("there is no table of tools")
	}
}
