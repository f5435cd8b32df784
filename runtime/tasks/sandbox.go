package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// Sandbox describes the sandbox of a run.
type Sandbox struct {
	// Mode is never box.Auto. It is empty if no agent has run, or if the agent is
	// remote.
	Mode box.Mode `json:"mode"`
	// Network is on, off, or a list of hosts.
	Network []string `json:"network,omitempty"`
	// Why explains which protection the mode lacks, or why there is no sandbox.
	Why string `json:"why,omitempty"`
}

// String describes the sandbox in one line, for people.
func (s Sandbox) String() string {
	text := string(s.Mode)
	if s.Mode != box.None && s.Mode != "" {
		text += ", network " + strings.Join(s.Network, ", ")
	}
	if s.Why != "" {
		text += ": " + s.Why
	}
	return text
}

func readSandbox(column string) (s Sandbox) {
	if column != "" {
		json.Unmarshal([]byte(column), &s) // a newer deskhand may store more fields
	}
	return s
}

func hostsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// sandbox is the sandbox of a run's processes.
type sandbox struct {
	Sandbox
	policy box.Policy
	home   string
	proxy  *box.Proxy
	// image reports whether programs come from an image only, because the
	// executor's kind is container.
	image bool
}

// close removes the containers, closes the proxy and removes the temporary folder.
func (s *sandbox) close() {
	s.kill()
	if s.proxy != nil {
		s.proxy.Close()
	}
	os.RemoveAll(s.policy.Temp)
}

// kill implements [executor.Spec.Kill]. If an engine does not respond, the
// container's record stays, and the container ends with its runner.
func (s *sandbox) kill() {
	if s.policy.Record != "" {
		_ = box.RemoveContainers(context.Background(), s.policy.Record)
	}
}

// stops returns controls that also kill the sandbox's containers.
func (s *sandbox) stops(c controls) controls {
	if s == nil || s.Mode != box.Container {
		return c
	}
	return containerControls{c, s}
}

type containerControls struct {
	controls
	s *sandbox
}

func (c containerControls) Kill() {
	c.controls.Kill()
	c.s.kill()
}

// command implements [executor.Spec.Box].
func (s *sandbox) command(line, env []string, private string) ([]string, []string, error) {
	return s.in(s.home, line, env, private)
}

// in returns the command line and the environment with which to run line in the sandbox.
func (s *sandbox) in(dir string, line, env []string, private string) ([]string, []string, error) {
	policy := s.policy
	if !s.image {
		policy.Read = slices.Concat(policy.Read, box.Programs(variableOf(env, "PATH"), line[0], slices.Concat(policy.Hide, policy.Seal, box.Shared)))
	}
	if private != "" {
		policy.Read = append(policy.Read, private)
	}
	return policy.Command(s.Mode, dir, line, env)
}

func variableOf(env []string, name string) (value string) {
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest // the last value applies
		}
	}
	return value
}

// setup runs the setup scripts. They come from the person, and run outside the
// sandbox unless an agent may already have changed the files that the scripts
// run. For an agent of kind container, they prepare what its image runs, so they
// run in the container.
func (r *run) setup() ending {
	scripts := func() ending { return r.scripts(func(repo Repo) string { return repo.Setup }) }
	if _, contained := r.m.options.Agents.Container(r.p.Executor); !contained && r.c.tree.AtBase(r.ctx) {
		return scripts()
	}
	return r.boxed(scripts)
}

// boxed calls do in the sandbox configured for the run, if there is one. A dev server that
// was started meanwhile ends before the work is committed.
func (r *run) boxed(inner func() ending) ending {
	do := func() ending {
		defer r.m.stopDev(context.WithoutCancel(r.ctx), r.p.AttemptID)
		return inner()
	}
	if !r.m.options.Agents.Here(r.p.Executor) {
		return do() // a remote agent works on its own machine
	}
	asked, network, err := r.confinement()
	if err != nil {
		return failed("sandbox: " + errorText(err))
	}
	if asked == "" {
		return r.watchRefs(do) // no sandbox is configured
	}
	mode, why, err := r.chooseSandbox(asked)
	if err != nil {
		return failed("sandbox: " + errorText(err))
	}
	is := Sandbox{Mode: mode, Network: network, Why: why}
	if err := r.noteSandbox(is); err != nil {
		return failed("sandbox: " + err.Error())
	}
	if mode == box.None {
		r.log.Append(logs.System("no sandbox: " + why))
		return r.watchRefs(do)
	}
	if err := r.enterSandbox(is); err != nil {
		return failed("sandbox: " + errorText(err))
	}
	r.log.Append(logs.System("sandbox: " + is.String()))
	return r.leaveSandbox(do())
}

// container returns the container of an agent of kind container, with what the
// project changes. ok is false for other agents.
func (r *run) container() (c box.ContainerConfig, ok bool) {
	c, ok = r.m.options.Agents.Container(r.p.Executor)
	return c.For(r.project.Name), ok
}

// chooseSandbox returns the mode to use for the configured one. For an agent of kind
// container, why names the image.
func (r *run) chooseSandbox(asked box.Mode) (mode box.Mode, why string, err error) {
	c, contained := r.container()
	if !contained {
		return box.Choose(r.ctx, asked)
	}
	engine, has, err := box.EngineFor(r.ctx, c)
	if err != nil {
		return "", "", refuse(SandboxUnavailable, box.MissingHint(c.Engine), "executor %s needs a container: %v", r.p.Executor, err)
	}
	if !has && r.log != nil { // a dev server has another log
		r.log.Append(logs.System(fmt.Sprintf("%s does not have the image %s yet, and pulls it", engine, c.Image)))
	}
	return box.Container, fmt.Sprintf("%s, image %s", engine, c.Image), nil
}

// confinement returns the sandbox configured for the run. The project's
// configuration takes precedence, then the agent's, then the settings. An empty
// mode means no sandbox. An agent of kind container has no other sandbox.
func (r *run) confinement() (box.Mode, []string, error) {
	c, err := r.m.Context(r.ctx, r.c.ID)
	if err != nil {
		return "", nil, err
	}
	_, mode, network := r.m.options.Agents.Boxing(r.p.Executor)
	for _, m := range []box.Mode{c.Project.Sandbox, mode, r.m.options.Sandbox} {
		if m != "" {
			mode = m
			break
		}
	}
	if _, contained := r.m.options.Agents.Container(r.p.Executor); contained {
		mode = box.Container
	}
	if mode == box.Auto && r.m.options.Agents.Scripted(r.p.Executor) {
		mode = "" // a person wrote the script, and can configure a sandbox explicitly
	}
	for _, n := range [][]string{c.Project.Network, network, r.m.options.Network, {box.NetworkOn}} {
		if len(n) > 0 {
			return mode, n, nil
		}
	}
	return mode, nil, nil
}

func (r *run) noteSandbox(s Sandbox) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return r.m.db.UpdateFast(r.ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(r.ctx, "UPDATE attempts SET sandbox = ? WHERE id = ?", string(text), r.c.ID)
		return err
	})
}

// enterSandbox creates the sandbox for the next process.
func (r *run) enterSandbox(is Sandbox) (err error) {
	_, contained := r.m.options.Agents.Container(r.p.Executor)
	s := &sandbox{Sandbox: is, home: r.c.home(), image: contained}
	if is.Mode == box.Container {
		s.policy.Run, s.policy.Record = r.p.ID, r.m.containerRecord(r.p.ID)
		if err := box.RemoveContainers(r.ctx, s.policy.Record); err != nil { // never two at a time
			return err
		}
	}
	defer func() {
		if err != nil {
			s.close()
			if _, e := r.c.tree.LeaveBox(context.WithoutCancel(r.ctx)); e != nil {
				err = errors.Join(err, e)
			}
		}
	}()
	if s.policy.Temp, err = r.m.boxTemp(r.p.ID); err != nil {
		return err
	}
	tree, err := r.c.tree.EnterBox(r.ctx)
	if err != nil {
		return err
	}
	needs, _, _ := r.m.options.Agents.Boxing(r.p.Executor)
	if err := r.allow(&s.policy, tree, needs); err != nil {
		return err
	}
	if s.policy.Network, s.proxy, err = r.connect(is, needs, s.policy.Temp); err != nil {
		return err
	}
	r.box = s
	return nil
}

// boxTemp creates a sandbox's private folder. The folder's path must be short,
// because it contains a socket, and systems limit the path of a socket to about
// 100 bytes. If it would be longer, the folder is in the system's temporary folder, and
// a file of the process names it, see [Manager.removeBoxTemp].
func (m *Manager) boxTemp(processID string) (string, error) {
	const maxSocket = 90
	dir := filepath.Join(m.runDir(processID), "box")
	m.removeBoxTemp(processID)
	if len(dir) > maxSocket {
		far := filepath.Join(os.TempDir(), boxPrefix+rand.Text()[:12])
		// Recorded first, so that no kill leaves a folder that nothing names.
		return far, errors.Join(os.WriteFile(m.boxRecord(processID), []byte(far), 0o600), os.Mkdir(far, 0o700))
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return "", fmt.Errorf("create a sandbox's folder: %w", err)
	}
	return filepath.EvalSymlinks(dir)
}

const boxPrefix = "deskhand-box-"

// boxRecord returns the path of the file that names a sandbox's folder outside of the
// process's own.
func (m *Manager) boxRecord(processID string) string {
	return filepath.Join(m.runDir(processID), "box-folder")
}

// removeBoxTemp removes the folder outside of the process's own that its sandbox had, if
// the runner was killed before it could. It removes nothing but such a folder, whatever
// the record says.
func (m *Manager) removeBoxTemp(processID string) {
	record := m.boxRecord(processID)
	far, err := os.ReadFile(record)
	if err != nil {
		return
	}
	if dir, name := filepath.Split(string(far)); filepath.Clean(dir) == filepath.Clean(os.TempDir()) && strings.HasPrefix(name, boxPrefix) {
		os.RemoveAll(string(far))
	}
	os.Remove(record)
}

// containerRecord returns the path of the file that lists a process's containers.
func (m *Manager) containerRecord(processID string) string {
	return filepath.Join(m.runDir(processID), "containers")
}

// removeContainers removes the containers of a process whose runner has died.
func (m *Manager) removeContainers(ctx context.Context, processID string) {
	if err := box.RemoveContainers(ctx, m.containerRecord(processID)); err != nil {
		m.options.Log.Warn("cannot remove a container", "process_id", processID, "error", err)
	}
}

// allow fills in the policy. It allows what every agent needs, what this agent
// needs, and the attempt's folders.
func (r *run) allow(p *box.Policy, tree worktree.Box, needs box.Needs) error {
	o := r.m.options
	p.Home = homeOf(r.env)
	env := func(name string) string { return variableOf(r.env, name) }
	p.Hide = []string{p.Home}
	if own, err := user.Current(); err == nil {
		p.Hide = append(p.Hide, own.HomeDir)
	}
	p.Seal = slices.Concat([]string{o.Dir}, o.Private, tree.Seal)
	if place := r.m.db.Place(); !store.IsPostgres(place) {
		p.Seal = append(p.Seal, place)
	}
	p.Seal = slices.DeleteFunc(p.Seal, func(dir string) bool { // a home folder that is a checkout is hidden, but stays usable
		rel, err := filepath.Rel(dir, p.Home)
		return err == nil && (rel == "." || !strings.HasPrefix(rel, ".."))
	})
	container, contained := r.container()
	all := box.Tools()
	if contained {
		all = box.GitSettings() // the image has its own tools
		for _, dir := range slices.Concat([]string{o.Dir}, o.Private) {
			if err := box.CheckMounts(container.Mounts, p.Home, dir); err != nil {
				return refuse(SandboxUnavailable, "change the executor's container.mounts", "%v", err)
			}
		}
	}
	all = all.And(needs)
	p.Read = slices.Concat(box.Expand(all.Read, p.Home, env), box.Expand(o.SandboxRead, p.Home, env), tree.Read, r.c.tree.GitFiles())
	p.Write = slices.Concat(box.Expand(all.Write, p.Home, env), box.Expand(o.SandboxWrite, p.Home, env), tree.Write)
	p.Copies = box.Expand(all.Copy, p.Home, env)
	if p.Container = container; !contained {
		p.Container = box.ContainerConfig{Image: o.Image}
	}
	if contained && runtime.GOOS != "linux" && container.Engine != box.Kubectl {
		p.Self = append([]string{"deskhand"}, box.Args...) // this program does not run in the image
		return nil
	}
	if p.Self = o.Boxed; p.Self == nil {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		p.Self = append([]string{self}, box.Args...)
	}
	p.Read = append(p.Read, p.Self[0])
	return nil
}

func homeOf(env []string) string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	return variableOf(env, name)
}

// connect returns the network that a sandbox can reach. If the network is
// closed, it also returns the proxy that the sandbox needs; the proxy runs
// outside.
func (r *run) connect(is Sandbox, needs box.Needs, temp string) (n box.Network, proxy *box.Proxy, err error) {
	own, _ := r.container()
	open := slices.Equal(is.Network, []string{box.NetworkOn})
	if open && own.Engine == box.Kubectl { // the connection to the pod carries what it needs
		if door, err := url.Parse(r.url); err == nil {
			n.Ports = box.Hosts{door.Host}.LoopbackPorts()
		}
		return n, nil, nil
	}
	if open && own.Network == "" {
		return n, nil, nil
	}
	if !box.CanClose(is.Mode) {
		return n, nil, refuse(SandboxUnavailable, "set tasks.sandbox_network to on, or install bubblewrap", "sandbox %s cannot close the network on this system", is.Mode)
	}
	var hosts box.Hosts
	if !open && !slices.Equal(is.Network, []string{box.NetworkOff}) {
		hosts = slices.Concat(is.Network, needs.Hosts)
	}
	if door, err := url.Parse(r.url); err == nil && door.Port() != "" {
		hosts = append(hosts, door.Host)
	}
	proxy, err = box.Listen(temp, hosts, func(host string) {
		r.log.Append(logs.System("the sandbox blocked the agent's connection to " + host))
	})
	if err != nil {
		return n, nil, err
	}
	n = box.Network{Closed: !open, Socket: proxy.Socket(), Ports: hosts.LoopbackPorts(), Proxy: proxy.Port()}
	return n, proxy, nil
}

// leaveSandbox copies the commits that were made in the sandbox into the
// repositories.
func (r *run) leaveSandbox(e ending) ending {
	r.box.kill()
	killOrphans(r.p.AttemptID) // kill them before git reads files that they write
	r.box.close()
	r.box = nil
	moved, err := r.c.tree.LeaveBox(context.WithoutCancel(r.ctx))
	r.remark(moved)
	if err != nil {
		r.log.Append(logs.Failed(errorText(err)))
		if e.State == Completed {
			e.State, e.Failure = Failed, "failed: "+errorText(err)
		}
	}
	return e
}

// remark records changes to refs other than the attempt's branch.
func (r *run) remark(moved []string) {
	for _, m := range moved {
		r.log.Append(logs.System(m))
	}
	r.remarks = append(r.remarks, moved...)
}

// watchRefs calls do. It records which refs of the repositories do has changed,
// except the attempts' branches.
func (r *run) watchRefs(do func() ending) ending {
	prefix := r.m.options.BranchPrefix
	before, err := r.c.tree.Refs(r.ctx, prefix)
	if err != nil {
		r.log.Append(logs.Failed("cannot read the repository's refs: " + err.Error()))
		return do()
	}
	e := do()
	after, err := r.c.tree.Refs(context.WithoutCancel(r.ctx), prefix)
	if err != nil {
		r.log.Append(logs.Failed("cannot read the repository's refs: " + err.Error()))
		return e
	}
	r.remark(worktree.MovedRefs(before, after))
	return e
}
