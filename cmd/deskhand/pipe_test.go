package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// message is one JSON-RPC message as it came.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// pipe is deskhand serve on a pipe, spoken to in lines written by hand. It may
// be used concurrently.
type pipe struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr *waittest.Log
	ended  chan struct{} // closed when stdout ends
	killed bool
	// welcome is the answer to initialize.
	welcome json.RawMessage

	write sync.Mutex

	mu      sync.Mutex
	next    int
	waiting map[string]chan message
	told    []message // notifications, and answers nobody waits for
}

// overPipe starts a server and begins a session.
func overPipe(t testing.TB, flags ...string) *pipe {
	t.Helper()
	return met(unmet(t, flags...))
}

// met begins a session.
func met(p *pipe) *pipe {
	p.t.Helper()
	p.welcome = p.rpc("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"byhand","version":"1"}}`)
	p.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

// unmet starts a server and says nothing to it yet.
func unmet(t testing.TB, flags ...string) *pipe {
	t.Helper()
	return unmetIn(t, t.TempDir(), flags...)
}

// unmetIn starts a server in a folder and says nothing to it yet.
func unmetIn(t testing.TB, dir string, flags ...string) *pipe {
	t.Helper()
	p := &pipe{
		t: t, cmd: exec.Command("deskhand", append([]string{"serve"}, flags...)...),
		stderr: &waittest.Log{}, ended: make(chan struct{}), waiting: map[string]chan message{},
	}
	p.cmd.Dir, p.cmd.Stderr = dir, p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(stdout)
	t.Cleanup(p.end)
	return p
}

// read hands every line to whoever waits for it.
func (p *pipe) read(stdout io.Reader) {
	defer close(p.ended)
	lines := bufio.NewReaderSize(stdout, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
			p.t.Errorf("stdout has %.200q, which is no message", line)
			continue
		}
		p.mu.Lock()
		if waits, ok := p.waiting[string(m.ID)]; ok && m.Method == "" {
			delete(p.waiting, string(m.ID))
			waits <- m
		} else {
			p.told = append(p.told, m)
		}
		p.mu.Unlock()
	}
}

// line writes one line as it is.
func (p *pipe) line(text string) {
	p.t.Helper()
	p.write.Lock()
	defer p.write.Unlock()
	if _, err := io.WriteString(p.in, text+"\n"); err != nil {
		p.t.Errorf("write %.100q: %v", text, err)
	}
}

// ask sends a request with raw params and waits for its answer.
func (p *pipe) ask(method, params string) (message, error) {
	p.t.Helper()
	answer := make(chan message, 1)
	p.mu.Lock()
	p.next++
	id := fmt.Sprint(p.next)
	p.waiting[id] = answer
	p.mu.Unlock()
	p.line(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	select {
	case m := <-answer:
		return m, nil
	case <-p.ended:
		return message{}, fmt.Errorf("the server ended: %s", p.stderr)
	case <-time.After(patience):
		return message{}, errors.New("no answer")
	}
}

// rpc is ask for requests that must not fail.
func (p *pipe) rpc(method, params string) json.RawMessage {
	p.t.Helper()
	m, err := p.ask(method, params)
	if err == nil && m.Error != nil {
		err = fmt.Errorf("error %d: %s", m.Error.Code, m.Error.Message)
	}
	if err != nil {
		p.t.Fatalf("%s %.200s: %v", method, params, err)
	}
	return m.Result
}

// notices counts the notifications of a method so far.
func (p *pipe) notices(method string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.told {
		if m.Method == method {
			n++
		}
	}
	return n
}

// kill ends the server as a machine does that fails.
func (p *pipe) kill() {
	p.t.Helper()
	p.killed = true
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
	_ = p.cmd.Wait() // which says that it was killed
}

// end closes stdin and wants the server to end well.
func (p *pipe) end() {
	if p.killed {
		return
	}
	p.in.Close()
	ended(p.t, p.cmd, p.ended, p.stderr)
}

// ended waits for a server whose output has ended or is about to.
func ended(t testing.TB, cmd *exec.Cmd, quiet <-chan struct{}, stderr fmt.Stringer) {
	t.Helper()
	select {
	case <-quiet:
	case <-time.After(patience):
		t.Errorf("%v does not end", cmd.Args)
		cmd.Process.Kill()
		<-quiet
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %v\n%s", cmd.Args, err, stderr)
	}
}
