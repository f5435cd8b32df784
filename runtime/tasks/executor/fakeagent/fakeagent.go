// Package fakeagent is the scripted agent: it executes its prompt, one step per line. It
// prints a line that is not a step as a message.
//
//	say TEXT          think TEXT        write PATH TEXT     run COMMAND
//	permit WHAT       ask QUESTION      spam N              sleep SECONDS
//	fail TEXT         crash             hang                spend IN OUT [USD]
//
// write and run work in the current folder; \n in write's TEXT is a newline. permit
// asks for permission and ends the run if it is denied; ask asks a person and prints
// the answer; spam prints N lines; spend reports tokens and a cost; fail exits with
// code 1; crash is killed by a signal; hang ignores all signals that can be ignored.
//
// The package imports only a few packages of the standard library, because many of
// these agents may wait at the same time: see [init].
package fakeagent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Args holds the arguments that make a program that imports this package run the
// scripted agent instead of its main function.
var Args = []string{"tasks", "fake-agent"}

// init runs the agent before Go initializes the packages that this one does not
// import, at least those that come later in the order of their paths. In deskhand,
// they would allocate 5 MB (Benchmark20IdleAttempts).
func init() {
	if len(os.Args) > 0 && slices.Equal(os.Args[1:], Args) {
		os.Exit(run(os.Stdin, os.Stdout))
	}
}

// Mark precedes an [Event] in a line of the agent's stdout. Everything else is ordinary
// output.
const Mark = 0x1e // the ASCII record separator, which does not occur in ordinary text

// Start is the first message to the agent.
type Start struct {
	Prompt string `json:"prompt"`
	Resume string `json:"resume,omitempty"` // the session to continue
}

// Event is a message from the agent. Only one of its fields is set.
type Event struct {
	Session string `json:"session,omitempty"`
	// Say, Think, Note and Fail are messages: what the agent says and thinks, what
	// happened to it, and the failure that ends the run.
	Say   string `json:"say,omitempty"`
	Think string `json:"think,omitempty"`
	Note  string `json:"note,omitempty"`
	Fail  string `json:"fail,omitempty"`
	Error string `json:"error,omitempty"` // does not end the run
	Call  *Call  `json:"call,omitempty"`
	// Permit is a command that needs permission, and Ask a question. The agent waits
	// for an [Answer].
	Permit string `json:"permit,omitempty"`
	Ask    string `json:"ask,omitempty"`
	Spent  *Spent `json:"spent,omitempty"`
}

// Call is a call of a tool, or its result if a call with the same number precedes it.
type Call struct {
	Number int    `json:"number"` // from 1
	Tool   string `json:"tool"`   // write, run or permit
	On     string `json:"on"`     // the path, the command, or what is to be permitted
	Status string `json:"status"`
	// Text is what write writes, or the output of run.
	Text string `json:"text,omitempty"`
	// Ended reports whether the command of run has ended, with the code Exit.
	Ended bool `json:"ended,omitempty"`
	Exit  int  `json:"exit,omitempty"`
}

// Answer answers a question of the agent.
type Answer struct {
	// Outcome is accept, or the reason why there is no answer.
	Outcome string `json:"outcome"`
	Text    string `json:"text,omitempty"`
	Rule    string `json:"rule,omitempty"` // a person's rule that permitted the command
	// Pending reports whether an answer may arrive later.
	Pending bool `json:"pending,omitempty"`
}

// Spent is what the agent has consumed so far.
type Spent struct {
	In   int64   `json:"in"`
	Out  int64   `json:"out"`
	Cost float64 `json:"cost,omitempty"` // US dollars
	Over bool    `json:"over,omitempty"` // nothing follows
}

// run executes the prompt that it reads from stdin and returns an exit code.
func run(stdin io.Reader, stdout io.Writer) int {
	f := &agent{in: bufio.NewReader(stdin), out: bufio.NewWriter(stdout), signals: make(chan os.Signal, 1)}
	var start Start
	if err := f.read(&start); err != nil {
		fmt.Fprintf(os.Stderr, "fake agent: cannot read its prompt: %v\n", err)
		return 2
	}
	signal.Notify(f.signals, os.Interrupt, syscall.SIGTERM)
	session := start.Resume
	if session == "" {
		session = "fake-" + strconv.FormatUint(rand.Uint64(), 36)
	}
	f.send(Event{Session: session})
	debug.FreeOSMemory() // a scripted agent mostly waits
	code := f.script(start.Prompt)
	f.spent.In += int64(len(strings.Fields(start.Prompt)))
	f.spent.Out += int64(f.words)
	f.spent.Over = true
	f.send(Event{Spent: &f.spent})
	return code
}

type agent struct {
	in      *bufio.Reader
	mu      sync.Mutex // serializes writes of lines to out
	out     *bufio.Writer
	signals chan os.Signal
	calls   int
	words   int
	spent   Spent
}

func (f *agent) read(v any) error {
	line, err := f.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

func (f *agent) send(e Event) {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // cannot happen: events are plain data
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.WriteByte(Mark)
	f.out.Write(data)
	f.out.WriteByte('\n')
	f.out.Flush()
}

// Write writes output of the agent, or of a command that the agent runs.
func (f *agent) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.out.Write(p)
	f.out.Flush()
	return n, err
}

func (f *agent) script(prompt string) int {
	var talk []string
	flush := func() {
		if len(talk) > 0 {
			f.say(strings.Join(talk, "\n"))
			talk = nil
		}
	}
	for _, line := range strings.Split(prompt, "\n") {
		line = strings.TrimRight(line, "\r")
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		step := steps[word]
		if step == nil || (rest == "") != (word == "crash" || word == "hang") {
			if strings.TrimSpace(line) != "" {
				talk = append(talk, line)
			}
			continue
		}
		flush()
		if code := step(f, strings.TrimSpace(rest)); code >= 0 {
			return code
		}
		select {
		case <-f.signals:
			return f.interrupted()
		default:
		}
	}
	flush()
	return 0
}

// steps maps a step's name to the function that executes it. The function
// returns an exit code, or -1 to continue.
var steps = map[string]func(f *agent, rest string) int{
	"say":    func(f *agent, rest string) int { return f.say(rest) },
	"think":  func(f *agent, rest string) int { f.send(Event{Think: rest}); return -1 },
	"write":  (*agent).write,
	"run":    (*agent).run,
	"permit": (*agent).permit,
	"ask":    (*agent).ask,
	"spam":   (*agent).spam,
	"sleep":  (*agent).sleep,
	"spend":  (*agent).spend,
	"fail": func(f *agent, rest string) int {
		f.send(Event{Fail: rest})
		fmt.Fprintln(os.Stderr, rest)
		return 1
	},
	"crash": func(*agent, string) int {
		if p, err := os.FindProcess(os.Getpid()); err == nil && runtime.GOOS != "windows" {
			p.Kill()
			time.Sleep(time.Minute)
		}
		return 3
	},
	"hang": func(f *agent, _ string) int {
		for range f.signals { // a signal arrived; ignore it
			continue
		}
		return -1
	},
}

func (f *agent) say(text string) int {
	f.Write([]byte(text + "\n"))
	f.send(Event{Say: text})
	f.words += len(strings.Fields(text))
	return -1
}

func (f *agent) interrupted() int {
	f.send(Event{Note: "interrupted"})
	return 130
}

// call shows a call of a tool while do runs. It then shows the call's result, which do
// may add to the call.
func (f *agent) call(c Call, do func(c *Call) error) error {
	f.calls++
	c.Number, c.Status = f.calls, "created"
	f.send(Event{Call: &c})
	err := do(&c)
	if c.Status = "success"; err != nil {
		c.Status = "failed"
	}
	f.send(Event{Call: &c})
	return err
}

func (f *agent) write(rest string) int {
	path, text, _ := strings.Cut(rest, " ")
	text = strings.ReplaceAll(text, `\n`, "\n") + "\n"
	err := f.call(Call{Tool: "write", On: path, Text: text}, func(*Call) error {
		if !filepath.IsLocal(path) {
			return fmt.Errorf("%s is not in the folder", path)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o644)
	})
	if err != nil {
		f.send(Event{Error: err.Error()})
	}
	return -1
}

// said is the text of several streams, in the order in which it was written.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (f *agent) run(command string) int {
	f.call(Call{Tool: "run", On: command}, func(c *Call) error {
		cmd := exec.Command("sh", "-c", command)
		if runtime.GOOS == "windows" {
			cmd = exec.Command("cmd", "/c", command)
		}
		var out said // both streams are written at the same time
		cmd.Stdout = io.MultiWriter(f, &out)
		cmd.Stderr = io.MultiWriter(os.Stderr, &out)
		err := cmd.Run()
		c.Text = strings.ToValidUTF8(out.text.String(), "\uFFFD")
		var exit *exec.ExitError
		if err == nil || errors.As(err, &exit) {
			c.Ended, c.Exit = true, cmd.ProcessState.ExitCode()
		}
		return err
	})
	return -1
}

// question asks a question and waits for the answer, or for a signal.
func (f *agent) question(q Event) (Answer, bool) {
	f.send(q)
	answered := make(chan Answer, 1)
	go func() {
		var a Answer
		if f.read(&a) != nil {
			a.Outcome = "cancel"
		}
		answered <- a
	}()
	select {
	case a := <-answered:
		return a, true
	case <-f.signals:
		return Answer{}, false
	}
}

func (f *agent) permit(what string) int {
	f.calls++
	call := func(status string) Event {
		return Event{Call: &Call{Number: f.calls, Tool: "permit", On: what, Status: status}}
	}
	f.send(call("pending_approval"))
	a, ok := f.question(Event{Permit: what})
	if !ok {
		return f.interrupted()
	}
	if a.Outcome == "accept" {
		f.send(call("success"))
		if a.Rule != "" {
			f.send(Event{Note: "allowed " + a.Rule})
		}
		return f.say("permitted: " + what)
	}
	f.send(call("denied"))
	f.say("not permitted: " + what)
	return 0
}

func (f *agent) ask(question string) int {
	a, ok := f.question(Event{Ask: question})
	switch {
	case !ok:
		return f.interrupted()
	case a.Pending:
		return f.say("no answer yet: " + question)
	case a.Outcome != "accept":
		return f.say("no answer: " + question)
	}
	return f.say("answer: " + a.Text)
}

func (f *agent) spam(rest string) int {
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 {
		return f.say("spam needs a number: " + rest)
	}
	for i := range n {
		text := fmt.Sprintf("line %d", i+1)
		data, err := json.Marshal(Event{Say: text})
		if err != nil {
			panic(err)
		}
		f.mu.Lock()
		fmt.Fprintf(f.out, "%s\n%c%s\n", text, Mark, data)
		f.mu.Unlock()
		if i%100 == 0 {
			select {
			case <-f.signals:
				f.Write(nil)
				return f.interrupted()
			default:
			}
		}
	}
	f.words += 2 * n
	f.Write(nil)
	return -1
}

func (f *agent) sleep(rest string) int {
	seconds, err := strconv.ParseFloat(rest, 64)
	if err != nil || seconds < 0 {
		return f.say("sleep needs seconds: " + rest)
	}
	select {
	case <-time.After(time.Duration(seconds * float64(time.Second))):
		return -1
	case <-f.signals:
		return f.interrupted()
	}
}

// spend reports tokens, and their cost in US dollars if it is given, as a model call.
func (f *agent) spend(rest string) int {
	var in, out int64
	var cost float64
	if n, _ := fmt.Sscan(rest, &in, &out, &cost); n < 2 || in < 0 || out < 0 || !(cost >= 0) {
		return f.say("spend needs tokens read and written: " + rest)
	}
	f.spent.In, f.spent.Out, f.spent.Cost = f.spent.In+in, f.spent.Out+out, f.spent.Cost+cost
	f.send(Event{Spent: &f.spent})
	return -1
}
