package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Run is a started agent. Its methods may be called concurrently.
type Run struct {
	pid     int
	spec    Spec
	ctx     context.Context // ends when the process exits
	prompt  string          // prompt to write to stdin; empty if it is in the arguments
	stdin   *os.File
	group   controls
	done    chan struct{}
	model   string // the model in the command line, or empty
	result  Result
	mu      sync.Mutex
	stopped bool // whether a stop was requested
	ended   bool // whether the turn is over; the exit status then does not matter
	// interrupt asks the agent, in the agent's own protocol, to end its turn.
	// It reports whether it could ask. It is nil if the protocol has no such
	// message.
	interrupt func() bool
}

// controls stops an agent.
type controls interface {
	Interrupt()
	Terminate()
	Kill()
}

// driver implements the protocol of one kind of agent.
type driver interface {
	// drive communicates with the process until the process's stdout ends, and
	// returns the result. It closes stdin when there is nothing more to write.
	drive(r *Run, stdout io.Reader) Result
}

// Start starts an agent in its own process group. When the agent or this
// process exits, the rest of the group is killed. ctx applies only while the
// agent is being started.
//
// Faults: executor_unavailable if the program is missing or does not start, or
// if the remote agent cannot be reached; invalid_argument for an unknown agent
// or variant.
func (t *Table) Start(ctx context.Context, id string, s Spec) (*Run, error) {
	c, ok := t.configs[Canonical(id)]
	if !ok {
		return nil, fault.New(InvalidArgument, fmt.Sprintf("there is no executor %q", id), "")
	}
	if s.Variant == "" {
		s.Variant = c.Default
	}
	v, ok := c.Variants[s.Variant]
	if !ok && s.Variant != "" {
		return nil, fault.New(InvalidArgument, fmt.Sprintf("executor %s has no variant %q", id, s.Variant), "")
	}
	k := c.kind()
	if !k.can(c).FollowUp {
		s.Resume = ""
	}
	if s.Resume == "" && s.Before != "" {
		s.Log.Append(logs.System("the agent starts a new session, which receives a summary of the conversation"))
		s.Prompt = s.Before + s.Prompt
	}
	if v.Mode != "" {
		c.Mode = v.Mode
	}
	return k.start(ctx, &launch{Config: c, id: id, variant: v, spec: s})
}

// Abandon cancels the remote work of a run whose runner was killed. session is the
// agent's own session ID. A remote task that is waiting for an answer is cancelled only
// if a person stopped the run. For a local agent, Abandon does nothing; it does not
// kill processes.
func (t *Table) Abandon(ctx context.Context, id, session string, stopped bool) error {
	c := t.configs[Canonical(id)]
	k := c.kind()
	if k.abandon == nil {
		return nil
	}
	return k.abandon(ctx, &launch{Config: c, id: id, spec: Spec{Resume: session}}, stopped)
}

// launch holds the data of an agent that is about to be started.
type launch struct {
	Config
	id      string
	variant Variant
	spec    Spec
	args    []string
	env     []string
	stdin   string // the prompt; empty if it is in the arguments
	temp    string // private folder for settings; empty if there is none
	model   string // the model in args, or empty
}

// program returns a start function for an agent that is a local program. driven
// returns the driver. It may change the command line and the environment.
func program(driven func(*launch) (driver, error)) func(context.Context, *launch) (*Run, error) {
	return func(_ context.Context, l *launch) (*Run, error) {
		l.args = slices.Clone(l.Command)
		if l.spec.Resume != "" && len(l.Resume) > 0 {
			l.args = slices.Clone(l.Resume)
		}
		l.env = slices.Clone(l.spec.Env)
		d, err := driven(l)
		if err != nil {
			l.clean()
			return nil, err
		}
		l.fill()
		return l.start(d)
	}
}

// lacksCommand describes what is wrong with a program's command, or returns "".
func lacksCommand(c Config) string {
	if len(c.Command) == 0 {
		return "it has no command"
	}
	return ""
}

// resumes reports whether the program can resume a session by its ID.
func (c Config) resumes() bool {
	return slices.ContainsFunc(c.Resume, func(a string) bool { return strings.Contains(a, "{{session}}") })
}

// fill replaces the placeholders in the arguments and the environment.
func (l *launch) fill() {
	l.insert(l.variant.Args)
	l.attachImages()
	l.model = modelIn(l.args) // before the prompt is in them
	if !slices.ContainsFunc(l.args, func(a string) bool { return strings.Contains(a, "{{prompt}}") }) {
		l.stdin = l.spec.Prompt
		if l.Events == "claude" && len(l.spec.Images) > 0 {
			l.stdin = l.spec.message()
		}
	}
	fill := strings.NewReplacer("{{prompt}}", l.spec.Prompt, "{{session}}", l.spec.Resume, "{{dir}}", l.spec.Dir)
	for i, a := range l.args[1:] {
		l.args[i+1] = fill.Replace(a)
	}
	for _, env := range []map[string]string{l.Env, l.variant.Env} {
		for name, value := range env {
			l.env = append(l.env, name+"="+fill.Replace(value))
		}
	}
}

// insert adds options after the other arguments. If the last argument is a
// dash, which means "read stdin", insert adds them before the dash.
func (l *launch) insert(args []string) {
	if n := len(l.args); n > 1 && l.args[n-1] == "-" {
		l.args = append(append(l.args[:n-1:n-1], args...), "-")
		return
	}
	l.args = append(l.args, args...)
}

func (l *launch) clean() {
	if l.temp != "" {
		os.RemoveAll(l.temp)
	}
}

func (l *launch) start(d driver) (*Run, error) {
	cmd, err := l.command()
	if err != nil {
		l.clean()
		return nil, err
	}
	pipes, err := connect(cmd)
	if err != nil {
		l.clean()
		return nil, err
	}
	g, err := proc.Start(cmd)
	if err != nil {
		pipes.close()
		l.clean()
		return nil, fault.New(ExecutorUnavailable, fmt.Sprintf("%s does not start: %v", l.args[0], err), l.Install)
	}
	pipes.handed()
	r := &Run{pid: cmd.Process.Pid, spec: l.spec, prompt: l.stdin, stdin: pipes.stdin, group: g, done: make(chan struct{}), model: l.model}
	ctx, cancel := context.WithCancel(context.Background())
	r.ctx = ctx
	go r.supervise(cmd, g, pipes, l, d, cancel)
	return r, nil
}

// command returns the command that runs the program, in its sandbox if there is one.
func (l *launch) command() (*exec.Cmd, error) {
	if l.runs != "" {
		return l.inContainer()
	}
	path := os.Getenv("PATH")
	for _, v := range l.env {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = p
		}
	}
	program, err := look(l.args[0], path)
	if err != nil {
		return nil, fault.New(ExecutorUnavailable, l.missing(path), l.Install)
	}
	if l.spec.Box != nil {
		return l.boxed(program)
	}
	cmd := exec.Command(program)
	cmd.Args = l.args
	cmd.Dir, cmd.Env = l.spec.Dir, l.env
	return cmd, nil
}

// boxed returns the command that runs the program in its sandbox.
func (l *launch) boxed(program string) (*exec.Cmd, error) {
	if real, err := filepath.Abs(program); err == nil {
		program = real
	}
	line, env, err := l.spec.Box(append([]string{program}, l.args[1:]...), l.env, l.temp)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir, cmd.Env = l.spec.Dir, env
	return cmd, nil
}

// drainTime is how long output is still read after a process has exited,
// because its child processes may hold the output open. After that time, the
// process group is killed. After twice that time, the output is closed, even if
// processes outside the group still hold it open.
const drainTime = 2 * time.Second

// supervise drives the agent until it exits. It then kills the processes that
// the agent left behind.
func (r *Run) supervise(cmd *exec.Cmd, g *proc.Group, p *pipes, l *launch, d driver, cancel func()) {
	defer close(r.done)
	defer l.clean()
	said := &textutil.Tail{Max: 1000}
	var reading sync.WaitGroup
	reading.Go(func() { copyRaw(p.stderr, r.spec.Log, logs.Stderr, said) })
	driven := make(chan Result, 1)
	go func() { driven <- d.drive(r, p.stdout) }()
	err := cmd.Wait()
	cancel()
	firm := time.AfterFunc(drainTime, g.Kill)
	deaf := time.AfterFunc(2*drainTime, func() { p.stdout.Close(); p.stderr.Close() })
	result := <-driven
	reading.Wait()
	firm.Stop()
	deaf.Stop()
	g.Kill()
	g.Close()
	r.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
	r.result = r.finalResult(result, err, cmd.ProcessState, said.String())
	r.result.Lost = r.result.Failure != "" && r.spec.Resume != "" && l.Lost != "" && strings.Contains(said.String(), l.Lost)
}

// finalResult combines the result that the agent reported with the exit status
// of the agent's process.
func (r *Run) finalResult(result Result, err error, state *os.ProcessState, said string) Result {
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	code := state.ExitCode()
	if ended {
		code, err = 0, nil
	}
	signal := r.boxedSignal(code)
	if code >= 0 && signal == "" {
		result.Exit = &code
	}
	if result.AgentSession == "" {
		result.AgentSession = r.spec.Resume
	}
	var exit *exec.ExitError
	switch {
	case result.Failure != "" && !result.unsure || err == nil:
	case errors.As(err, &exit):
		end := exit.Error()
		if signal != "" {
			end = signal
		}
		if said != "" {
			end += ": " + said
		}
		result.Failure = strings.TrimPrefix(result.Failure+"; "+end, "; ")
	default:
		result.Failure = err.Error()
	}
	return result
}

// boxedSignal returns the name of the signal that killed a program in its
// sandbox, or "" if there was none. In that case, the sandbox exits with 128
// plus the signal's number, as shells do.
func (r *Run) boxedSignal(code int) string {
	const most = 64 // highest signal number
	if number := code - 128; r.spec.Box != nil && number > 0 && number <= most {
		return "signal: " + syscall.Signal(number).String()
	}
	return ""
}

// Pid returns the process ID of the group's leader, or 0 for a remote agent.
func (r *Run) Pid() int { return r.pid }

// Done returns a channel that is closed when the agent and its group have exited.
func (r *Run) Done() <-chan struct{} { return r.done }

// Wait waits until the run ends and returns its result.
func (r *Run) Wait() Result {
	<-r.done
	return r.result
}

// Interrupt asks the agent to end its turn. It uses the agent's protocol or, if
// that is not possible, sends SIGINT to the group.
func (r *Run) Interrupt() {
	r.mu.Lock()
	r.stopped = true
	ask := r.interrupt
	r.mu.Unlock()
	if ask == nil || !ask() {
		r.group.Interrupt()
	}
}

// Terminate asks the processes in the group to exit. They may take some time to
// do so.
func (r *Run) Terminate() { r.group.Terminate() }

// Kill kills the group, and what the group does not contain.
func (r *Run) Kill() {
	r.group.Kill()
	if r.spec.Kill != nil {
		r.spec.Kill()
	}
}

// sendPrompt writes the prompt to the agent's stdin and closes it.
func (r *Run) sendPrompt() {
	go func() {
		io.WriteString(r.stdin, r.prompt)
		r.stdin.Close()
	}()
}

// turnEnded records that the agent has finished its turn. After that, the run
// counts as successful even if the process must be killed.
func (r *Run) turnEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

func (r *Run) onInterrupt(ask func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupt = ask
}

// stopRequested reports whether the run was asked to stop.
func (r *Run) stopRequested() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}

// ask puts a question to a person. If nobody can be asked, or if asking fails,
// the answer is "cancel".
func (r *Run) ask(ctx context.Context, q Question) Answer {
	if r.spec.Ask == nil {
		return Answer{Outcome: "cancel"}
	}
	a, err := r.spec.Ask(ctx, q)
	if err != nil {
		if ctx.Err() == nil {
			r.spec.Log.Append(logs.Failed("cannot ask a person: " + err.Error()))
		}
		return Answer{Outcome: "cancel"}
	}
	return a
}

func (r *Run) session(id string) {
	if id != "" && r.spec.Session != nil {
		r.spec.Session(id)
	}
}

// pipes holds the three streams of a process. They are files, so that deskhand
// notices the exit of the process even if another process holds the streams
// open.
type pipes struct {
	stdin, stdout, stderr *os.File
	theirs                []*os.File
}

func connect(cmd *exec.Cmd) (*pipes, error) {
	p := &pipes{}
	in, stdin, err := os.Pipe()
	if err == nil {
		p.stdin, p.theirs, cmd.Stdin = stdin, append(p.theirs, in), in
		stdout, out, e := os.Pipe()
		if err = e; err == nil {
			p.stdout, p.theirs, cmd.Stdout = stdout, append(p.theirs, out), out
			stderr, out, e := os.Pipe()
			if err = e; err == nil {
				p.stderr, p.theirs, cmd.Stderr = stderr, append(p.theirs, out), out
			}
		}
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("create pipes for an agent: %w", err)
	}
	return p, nil
}

// handed closes this process's copies of the pipe ends that the started process
// uses.
func (p *pipes) handed() {
	for _, f := range p.theirs {
		f.Close()
	}
	p.theirs = nil
}

func (p *pipes) close() {
	p.handed()
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

// copyRaw copies a stream to the log until it ends.
func copyRaw(from io.Reader, log Log, s logs.Stream, more io.Writer) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			log.Raw(s, buf[:n])
			if more != nil {
				more.Write(buf[:n])
			}
		}
		if err != nil {
			return
		}
	}
}
