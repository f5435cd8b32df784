// Package box runs a program in a sandbox. It converts a command line and a
// policy to another command line. That command line is for bubblewrap, a
// container engine, macOS's sandbox-exec, or this program. This program
// restricts itself with Landlock and then executes the other program.
//
// The policy means the same in all modes. The system is readable, some folders
// are hidden except for certain paths in them, and only certain paths are
// writable. The manual lists the limits of each mode: see
// corpus/reference/sandbox.md.
package box

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Mode is the technique of a sandbox.
type Mode string

// Modes of a sandbox. Auto stands for one of the other modes that works on this
// system.
const (
	Auto      Mode = "auto"
	Bwrap     Mode = "bwrap"
	Landlock  Mode = "landlock"
	Seatbelt  Mode = "sandbox-exec" // macOS
	Container Mode = "container"
	None      Mode = "none"
)

// Modes lists the modes that a user can choose.
var Modes = []Mode{Auto, Bwrap, Landlock, Container, None}

// Policy specifies what a program may do. Paths are absolute. Paths that do not
// exist are ignored.
type Policy struct {
	Hide  []string // folders that are empty or inaccessible, except for the paths in Read and Write
	Seal  []string // like Hide, but writing fails; with Hide, written files are discarded
	Read  []string
	Write []string
	// Copies lists files that the program gets as copies. It may change the
	// copies.
	Copies []string
	// Home is the user's home folder. Hide contains it.
	Home string
	// Temp is a private folder of this run.
	Temp string
	// Network restricts the network. The zero value allows everything.
	Network Network
	// Container applies to containers.
	Container ContainerConfig
	// Run names the run to which a container belongs, and Record is the path of
	// the file that lists its containers: see [RemoveContainers]. Both may be empty.
	Run, Record string
	// Self is the command line that makes this program call [Main].
	Self []string
}

// Network specifies the hosts that a program can reach.
type Network struct {
	// Closed allows only Ports and Proxy.
	Closed bool
	// Ports lists ports on loopback that are forwarded to the same ports outside.
	Ports []int
	// Proxy is a port on loopback that is forwarded to the [Proxy] outside. 0
	// means that there is no proxy.
	Proxy int
	// Socket is the path of the Proxy's Unix socket.
	Socket string
}

// part is a path in a policy, and the access that the policy gives to the path.
type part struct {
	path string
	what access
}

type access int

const (
	hide access = iota
	seal
	read
	write
)

// parts returns the policy's paths with links resolved, parent folders first.
// If a path occurs several times, its last access applies.
func (p Policy) parts() (all []part) {
	known := map[string]access{}
	for what, paths := range [][]string{hide: p.Hide, seal: p.Seal, read: p.Read, write: p.Write} {
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			if err != nil || !filepath.IsAbs(path) {
				continue
			}
			known[real] = access(what)
		}
	}
	for path, what := range known {
		all = append(all, part{path, what})
	}
	slices.SortFunc(all, func(a, b part) int { return strings.Compare(a.path+"/", b.path+"/") })
	return all
}

// unsafeVariables lists variables that would let a program act outside its
// sandbox. They lead to agents that sign for the person, to services that run
// programs, and to hidden files of deskhand.
var unsafeVariables = []string{"DESKHAND_CONFIG", "DESKHAND_STATE", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "XDG_RUNTIME_DIR",
	"DOCKER_HOST", "CONTAINER_HOST", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"}

// Command returns a command line and an environment that run line in a sandbox
// with the given mode. env is the environment for line, and dir is the working
// directory.
func (p Policy) Command(mode Mode, dir string, line, env []string) ([]string, []string, error) {
	env, added := p.environment(mode, env)
	if err := os.MkdirAll(filepath.Join(p.Temp, "tmp"), 0o700); err != nil {
		return nil, nil, fmt.Errorf("create a sandbox's folder: %w", err)
	}
	in, err := p.inner(mode)
	if err != nil {
		return nil, nil, err
	}
	if mode == Container {
		in.Env = added
		return p.container(dir, line, env, in)
	}
	env = append(env, added...)
	inside, err := json.Marshal(in)
	if err != nil {
		return nil, nil, err
	}
	inner := append(append(slices.Clone(p.Self), string(inside), "--"), line...)
	switch mode {
	case Bwrap:
		return p.bwrap(dir, inner), env, nil
	case Landlock:
		return inner, env, nil
	case Seatbelt:
		return p.seatbelt(inner), env, nil
	case None:
		return line, env, nil
	}
	return nil, nil, fault.New(InvalidArgument, fmt.Sprintf("sandbox %q is not one of %s", mode, ModeNames()), "")
}

// ModeNames returns a list of the modes that a user can choose, as text.
func ModeNames() string {
	var names []string
	for _, m := range Modes {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

// environment returns the variables of env that are safe in a sandbox, and those
// that the sandbox adds. The latter contain no secrets.
func (p Policy) environment(mode Mode, env []string) (safe, added []string) {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(unsafeVariables, name)
	})
	temp := "/tmp"
	if mode == Landlock || mode == Seatbelt { // these modes share the system's /tmp
		temp = filepath.Join(p.Temp, "tmp")
	}
	added = append(added, "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp, "DESKHAND_SANDBOX="+string(mode))
	if p.privateHome(mode) {
		env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "XDG_") })
		added = append(added, "HOME="+filepath.Join(p.Temp, homeFolder))
	}
	if p.Network.Closed && p.Network.Proxy > 0 {
		at := fmt.Sprintf("http://127.0.0.1:%d", p.Network.Proxy)
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
			added = append(added, name+"="+at)
		}
		added = append(added, "NO_PROXY=127.0.0.1,localhost,::1", "no_proxy=127.0.0.1,localhost,::1", "NODE_USE_ENV_PROXY=1")
	}
	return env, added
}

// privateHome reports whether the program needs another home folder, because
// the mode cannot replace the real one. The other home folder contains links to
// it.
func (p Policy) privateHome(mode Mode) bool { return mode == Landlock || mode == Seatbelt }

const homeFolder = "home"

// inner returns the setup that [Main] does before it runs the program.
func (p Policy) inner(mode Mode) (in Inner, err error) {
	home := p.Home
	if p.privateHome(mode) {
		home = filepath.Join(p.Temp, homeFolder)
		if in.Links, err = p.links(home); err != nil {
			return in, err
		}
	}
	for i, from := range p.Copies {
		name, err := filepath.Rel(p.Home, from)
		if err != nil || strings.HasPrefix(name, "..") {
			continue
		}
		text, err := os.ReadFile(from)
		if err != nil {
			continue // the file does not exist
		}
		kept := filepath.Join(p.Temp, fmt.Sprintf("copy-%d", i))
		if err := os.WriteFile(kept, text, 0o600); err != nil {
			return in, fmt.Errorf("copy %s for a sandbox: %w", from, err)
		}
		in.Copies = append(in.Copies, [2]string{kept, filepath.Join(home, name)})
	}
	if mode == Landlock {
		in.Landlock = p.landlock()
	}
	if mode == Container {
		in.Image = true
		if in.Alive, err = stayAlive(p.Temp); err != nil {
			return in, fmt.Errorf("lock a file for a container: %w", err)
		}
	}
	if p.Network.Closed && (mode == Bwrap || mode == Container) {
		in.Socket, in.Ports, in.Proxy = p.Network.Socket, p.Network.Ports, p.Network.Proxy
	} else if mode == Container && (p.Container.Network != "" || p.Container.Engine == Kubectl) { // which does not reach this machine's loopback
		in.Socket, in.Ports = p.Network.Socket, p.Network.Ports
	}
	return in, nil
}

// links returns the paths in home that the policy contains, each with the
// corresponding path in another folder.
func (p Policy) links(home string) (links [][2]string, err error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("create a sandbox's home: %w", err)
	}
	for _, path := range slices.Sorted(slices.Values(slices.Concat(p.Read, p.Write))) { // a folder comes before its content
		name, err := filepath.Rel(p.Home, path)
		if err != nil || name == "." || strings.HasPrefix(name, "..") {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			links = append(links, [2]string{path, filepath.Join(home, name)})
		}
	}
	return links, nil
}
