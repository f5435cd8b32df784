package executor

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/deskhand/deskhand/runtime/rules"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/usage"
)

// FakeArgs holds the arguments that make this program run [FakeMain].
var FakeArgs = []string{"tasks", "fake-agent"}

// FakeMain is the scripted agent: it executes its prompt, one step per line, and
// returns an exit code. It prints a line that is not a step as a message.
//
//	say TEXT          think TEXT        write PATH TEXT     run COMMAND
//	permit WHAT       ask QUESTION      spam N              sleep SECONDS
//	fail TEXT         crash             hang                spend IN OUT [USD]
//
// write and run work in the current folder; \n in write's TEXT is a newline. permit
// asks for permission and ends the run if it is denied; ask asks a person and prints
// the answer; spam prints N lines; spend
// reports tokens and a cost; fail exits with code 1; crash is killed by a signal;
// hang ignores all signals that can be ignored.
func FakeMain(stdin io.Reader, stdout io.Writer) int {
	f := &fakeAgent{in: bufio.NewReader(stdin), out: bufio.NewWriter(stdout), signals: make(chan os.Signal, 1)}
	var start fakeStart
	if err := f.read(&start); err != nil {
		fmt.Fprintf(os.Stderr, "fake agent: cannot read its prompt: %v\n", err)
		return 2
	}
	signal.Notify(f.signals, os.Interrupt, syscall.SIGTERM)
	session := start.Resume
	if session == "" {
		session = "fake-" + strings.ToLower(rand.Text()[:12])
	}
	f.send(fakeEvent{Session: session})
	debug.FreeOSMemory() // a scripted agent mostly waits
	code := f.script(start.Prompt)
	f.spent.In += int64(len(strings.Fields(start.Prompt)))
	f.spent.Out += int64(f.words)
	f.send(fakeEvent{Summary: f.said, Usage: f.usage(usage.Full)})
	return code
}

type fakeAgent struct {
	in      *bufio.Reader
	mu      sync.Mutex // serializes writes of lines to out
	out     *bufio.Writer
	signals chan os.Signal
	entries int
	said    string // last message
	words   int
	spent   usage.Tokens
	cost    float64 // US dollars
}

func (f *fakeAgent) read(v any) error {
	line, err := f.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

func (f *fakeAgent) send(e fakeEvent) {
	if e.Entry != nil && e.Replace == 0 {
		f.entries++
	}
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // cannot happen: events are plain data
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.WriteByte(fakeMark)
	f.out.Write(data)
	f.out.WriteByte('\n')
	f.out.Flush()
}

// Write writes output of the agent, or of a command that the agent runs.
func (f *fakeAgent) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.out.Write(p)
	f.out.Flush()
	return n, err
}

func (f *fakeAgent) script(prompt string) int {
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
		step := fakeSteps[word]
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

// fakeSteps maps a step's name to the function that executes it. The function
// returns an exit code, or -1 to continue.
var fakeSteps = map[string]func(f *fakeAgent, rest string) int{
	"say":    func(f *fakeAgent, rest string) int { return f.say(rest) },
	"think":  func(f *fakeAgent, rest string) int { f.send(entry(logs.Think(rest))); return -1 },
	"write":  (*fakeAgent).write,
	"run":    (*fakeAgent).run,
	"permit": (*fakeAgent).permit,
	"ask":    (*fakeAgent).ask,
	"spam":   (*fakeAgent).spam,
	"sleep":  (*fakeAgent).sleep,
	"spend":  (*fakeAgent).spend,
	"fail": func(f *fakeAgent, rest string) int {
		e := entry(logs.Failed(rest))
		e.Failure = rest
		f.send(e)
		fmt.Fprintln(os.Stderr, rest)
		return 1
	},
	"crash": func(*fakeAgent, string) int {
		if p, err := os.FindProcess(os.Getpid()); err == nil && runtime.GOOS != "windows" {
			p.Kill()
			time.Sleep(time.Minute)
		}
		return 3
	},
	"hang": func(f *fakeAgent, _ string) int {
		for range f.signals { // a signal arrived; ignore it
			continue
		}
		return -1
	},
}

func entry(e logs.Entry) fakeEvent { return fakeEvent{Entry: &e} }

func (f *fakeAgent) say(text string) int {
	f.Write([]byte(text + "\n"))
	f.send(entry(logs.Say(text)))
	f.said = text
	f.words += len(strings.Fields(text))
	return -1
}

func (f *fakeAgent) interrupted() int {
	f.send(entry(logs.System("interrupted")))
	return 130
}

// tool shows a tool call while do runs. It then shows the call's result.
func (f *fakeAgent) tool(name, content string, a logs.Action, do func(a *logs.Action) error) error {
	f.send(entry(logs.Tool(name, content, "created", a)))
	mine := f.entries
	err := do(&a)
	status := "success"
	if err != nil {
		status = "failed"
	}
	done := logs.Tool(name, content, status, a)
	f.send(fakeEvent{Entry: &done, Replace: mine})
	return err
}

func (f *fakeAgent) write(rest string) int {
	path, text, _ := strings.Cut(rest, " ")
	text = strings.ReplaceAll(text, `\n`, "\n") + "\n"
	edit := logs.Action{Action: "file_edit", Path: path, Changes: []logs.FileEdit{{Action: "write", Content: text}}}
	err := f.tool("write", path, edit, func(*logs.Action) error {
		if !filepath.IsLocal(path) {
			return fmt.Errorf("%s is not in the folder", path)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o644)
	})
	if err != nil {
		f.send(entry(logs.Failed(err.Error())))
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

func (f *fakeAgent) run(command string) int {
	f.tool("run", command, logs.Action{Action: "command_run", Command: command}, func(a *logs.Action) error {
		cmd := exec.Command("sh", "-c", command)
		if runtime.GOOS == "windows" {
			cmd = exec.Command("cmd", "/c", command)
		}
		var out said // both streams are written at the same time
		cmd.Stdout = io.MultiWriter(f, &out)
		cmd.Stderr = io.MultiWriter(os.Stderr, &out)
		err := cmd.Run()
		result := logs.CommandResult{Output: logs.Clip(strings.ToValidUTF8(out.text.String(), "\uFFFD"))}
		var exit *exec.ExitError
		if err == nil || errors.As(err, &exit) {
			result.Exit = &logs.Exit{Type: "exit_code", Code: cmd.ProcessState.ExitCode()}
		}
		a.Result = result
		return err
	})
	return -1
}

// question asks a question and waits for the answer, or for a signal.
func (f *fakeAgent) question(q Question) (Answer, bool) {
	f.send(fakeEvent{Ask: &q})
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

func (f *fakeAgent) permit(what string) int {
	call := func(status string) logs.Entry {
		return logs.Tool("permit", what, status, logs.Action{Action: "other", Description: what})
	}
	f.send(entry(call("pending_approval")))
	mine := f.entries
	dir, _ := os.Getwd() // if empty, every path counts as outside the folder
	p := Proposal{Action: "command", Text: what}
	p.Marks = marksOf(p, nil, dir)
	options := []Option{{"allow", "Allow", "allow_once"}, {"reject", "Reject", "reject_once"}}
	p.Call = withOption(&rules.Call{Tool: rules.Command, Command: what}, options)
	a, ok := f.question(Question{Permission: true, Title: "Allow " + p.heading("permit") + "?", Proposal: &p, Tool: "permit", Options: options})
	if !ok {
		return f.interrupted()
	}
	if a.Outcome == "accept" && a.Option == "allow" {
		done := call("success")
		f.send(fakeEvent{Entry: &done, Replace: mine})
		if a.Rule != "" {
			f.send(entry(logs.System("allowed " + a.Rule)))
		}
		return f.say("permitted: " + what)
	}
	done := call("denied")
	f.send(fakeEvent{Entry: &done, Replace: mine})
	f.say("not permitted: " + what)
	return 0
}

func (f *fakeAgent) ask(question string) int {
	a, ok := f.question(Question{Title: question})
	switch {
	case !ok:
		return f.interrupted()
	case a.Pending:
		return f.say("no answer yet: " + question)
	case a.Outcome != "accept":
		return f.say("no answer: " + question)
	case a.Text == "" && a.Option != "":
		a.Text = a.Option
	}
	return f.say("answer: " + a.Text)
}

func (f *fakeAgent) spam(rest string) int {
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 {
		return f.say("spam needs a number: " + rest)
	}
	for i := range n {
		text := fmt.Sprintf("line %d", i+1)
		data, err := json.Marshal(entry(logs.Say(text)))
		if err != nil {
			panic(err)
		}
		f.mu.Lock()
		fmt.Fprintf(f.out, "%s\n%c%s\n", text, fakeMark, data)
		f.mu.Unlock()
		if i%100 == 0 {
			select {
			case <-f.signals:
				f.Write(nil)
				return f.interrupted()
			default:
			}
		}
		f.said = text
	}
	f.entries += n
	f.words += 2 * n
	f.Write(nil)
	return -1
}

func (f *fakeAgent) sleep(rest string) int {
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
func (f *fakeAgent) spend(rest string) int {
	var in, out int64
	var cost float64
	if n, _ := fmt.Sscan(rest, &in, &out, &cost); n < 2 || in < 0 || out < 0 || !(cost >= 0) {
		return f.say("spend needs tokens read and written: " + rest)
	}
	f.spent.In, f.spent.Out, f.cost = f.spent.In+in, f.spent.Out+out, f.cost+cost
	f.send(fakeEvent{Usage: f.usage(usage.Part)})
	return -1
}

func (f *fakeAgent) usage(c usage.Coverage) *usage.Report {
	return &usage.Report{Models: []usage.Model{{Name: "fake", Tokens: f.spent}}, Cost: usage.Micros(f.cost), Coverage: c}
}
