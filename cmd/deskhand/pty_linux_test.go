package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// person is somebody at a terminal in which a deskhand runs; its stdout is a
// pipe, as in $(deskhand ask ...).
type person struct {
	t      *testing.T
	cmd    *exec.Cmd
	pty    *os.File
	stdout bytes.Buffer

	mu     sync.Mutex
	screen []byte // everything that was ever written to it
	read   sync.WaitGroup
}

// sits starts a command line at a terminal of 80 by 24. stdin may be nil for
// the terminal.
func sits(t *testing.T, stdin io.Reader, env []string, args ...string) *person {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, pty: pty, cmd: exec.CommandContext(t.Context(), "deskhand", args...)}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, &p.stdout, tty
	if stdin != nil {
		p.cmd.Stdin = stdin
	}
	p.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color"), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	p.read.Go(func() {
		b := make([]byte, 4096)
		for {
			n, err := pty.Read(b)
			p.mu.Lock()
			p.screen = append(p.screen, b[:n]...)
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	t.Cleanup(func() { pty.Close() })
	return p
}

// sees waits until a text was written to the screen. Only what changes is
// written, so the text is one that was not there before, from its first letter,
// and without spaces where a blank was.
func (p *person) sees(text string) {
	p.t.Helper()
	eventually(p.t, "the person sees "+text, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if shown := ansi.Strip(string(p.screen)); !strings.Contains(shown, text) {
			return fmt.Errorf("the screen had %q", shown)
		}
		return nil
	})
}

// forgets what was on the screen until now.
func (p *person) forgets() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen = nil
}

func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := p.pty.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for the command's end; stderr is all of the screen.
func (p *person) ends() ran {
	p.t.Helper()
	err := p.cmd.Wait()
	if p.cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	p.read.Wait()
	return ran{p.stdout.String(), ansi.Strip(string(p.screen)), p.cmd.ProcessState.ExitCode()}
}

func TestPersonAtATerminalAnswers(t *testing.T) {
	peopleStore(t)
	p := sits(t, nil, nil, "ask", "--confirm", "Deploy to production?")
	p.sees("Deploy to production?")
	p.types("y")
	p.sees("x) Yes")
	p.types("\r")
	if got := p.ends(); got.code != 0 || got.stdout != "yes\n" {
		t.Errorf("y and Enter: exit %d, stdout %q, want 0 and yes; screen %q", got.code, got.stdout, got.stderr)
	}
	if r := listed(t, "--all")[0]; r.Completion.Channel != "terminal" || len(r.Presented) != 1 {
		t.Errorf("completed by %+v, presented %+v, want both in the terminal", r.Completion, r.Presented)
	}
}

func TestAPersonAtATerminalAddsANote(t *testing.T) {
	for name, c := range map[string]struct {
		env  []string
		does func(p *person)
	}{
		"on a screen": {nil, func(p *person) {
			p.sees("Deploy?")
			p.types("\x0e") // Ctrl+N
			p.sees("A note for the asker")
			p.types("after six\r")
			p.sees("Your note: after six")
			p.types("y")
			p.sees("x) Yes")
			p.types("\r")
		}},
		"line by line": {[]string{"TERM=dumb"}, func(p *person) {
			p.sees("Type yes or no")
			p.types("/note after six\n")
			p.sees("Your note is sent with your answer.")
			p.types("yes\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			peopleStore(t)
			p := sits(t, nil, c.env, "ask", "--confirm", "Deploy?")
			c.does(p)
			if got := p.ends(); got.code != 0 || got.stdout != "yes\n" {
				t.Errorf("exit %d, stdout %q, want yes", got.code, got.stdout)
			}
			if r := listed(t, "--all")[0]; r.Completion.Note != "after six" {
				t.Errorf("completed by %+v, want the note", r.Completion)
			}
		})
	}
}

// Whoever looks at the form is told that somebody else was faster.
func TestFormClosesWhenSomebodyAnswersElsewhere(t *testing.T) {
	for _, plain := range []string{"--plain=false", "--plain"} {
		t.Run(plain, func(t *testing.T) {
			peopleStore(t)
			p := sits(t, nil, nil, "ask", plain, "Name?")
			p.sees("Name?")
			done(t, t.TempDir(), "ask", "answer", listed(t)[0].ID, "answer=Ada")
			got := p.ends()
			if got.code != 0 || got.stdout != "Ada\n" {
				t.Errorf("exit %d, stdout %q, want 0 and Ada", got.code, got.stdout)
			}
			if !strings.Contains(got.stderr, "Name?: answered on the command line at ") {
				t.Errorf("the person was not told who answered: %q", got.stderr)
			}
		})
	}
}

func TestCtrlCLeavesTheDraft(t *testing.T) {
	peopleStore(t)
	p := sits(t, nil, nil, "ask", "Name?")
	p.sees("Name?")
	p.types("Half-a-dra")
	p.sees("Half-a-dra")
	p.types("\x03")
	if got := p.ends(); got.code != 130 || got.stdout != "" || !strings.Contains(got.stderr, "deskhand ask wait elc_") {
		t.Errorf("Ctrl+C: exit %d, stdout %q, screen %q", got.code, got.stdout, got.stderr)
	}
	open := listed(t)
	if len(open) != 1 || open[0].Answers["answer"].State != elicit.Draft || open[0].Answers["answer"].Value.Text != "Half-a-dra" {
		t.Errorf("afterwards %+v, want the question open with the draft", open)
	}
}

// Whatever ends the command, the terminal is as it was.
func TestTerminalIsRestored(t *testing.T) {
	for _, end := range []func(p *person){
		func(p *person) { p.types("\x03") },
		func(p *person) { p.cmd.Process.Signal(syscall.SIGTERM) },
		func(p *person) { done(t, t.TempDir(), "ask", "cancel", listed(t)[0].ID) },
	} {
		peopleStore(t)
		p := sits(t, nil, nil, "ask", "Name?")
		p.sees("Name?")
		end(p)
		p.ends()
		raw := string(p.screen)
		if enter, leave := strings.LastIndex(raw, "\x1b[?1049h"), strings.LastIndex(raw, "\x1b[?1049l"); enter < 0 || leave < enter {
			t.Errorf("the screen is not given back: %q", raw)
		}
	}
}

func TestDeclineAndCancelAreDeliberate(t *testing.T) {
	for _, c := range []struct {
		key  string
		code int
	}{{"d", 3}, {"x", 4}} {
		peopleStore(t)
		p := sits(t, nil, nil, "ask", "Name?")
		p.sees("Name?")
		p.types("\x1b")
		p.sees("Leave this question?")
		p.types(c.key)
		if got := p.ends(); got.code != c.code || got.stdout != "" {
			t.Errorf("Esc and %s: exit %d, stdout %q, want %d", c.key, got.code, got.stdout, c.code)
		}
	}
}

// The questions come on stdin, the answers from the terminal.
func TestQuestionsOnStdinAreAnsweredAtTheTerminal(t *testing.T) {
	peopleStore(t)
	questions := `{"questions": [{"id": "name", "question": "Name?"}, {"id": "ok", "question": "Sure?", "type": "confirm"}]}`
	p := sits(t, strings.NewReader(questions), nil, "ask", "--questions", "-", "--output", "lines")
	p.sees("Question 1 of 2")
	p.types("Ada\r")
	p.sees("yes or no")
	p.types("n\r")
	p.sees("Your answers")
	p.types("\r")
	if got := p.ends(); got.code != 0 || got.stdout != "name=Ada\nok=no\n" {
		t.Errorf("exit %d, stdout %q, want both answers", got.code, got.stdout)
	}
}

func TestScreenReadersAreToldLineByLine(t *testing.T) {
	for _, env := range []string{"TERM=dumb", "ACCESSIBLE=1"} {
		t.Run(env, func(t *testing.T) {
			peopleStore(t)
			p := sits(t, nil, []string{env}, "ask", "Which?", "-o", "Alpha", "-o", "Beta")
			p.sees("2. Beta")
			p.types("7\n")
			p.sees("Type a number from 1 to 2.")
			p.types("2\n")
			got := p.ends()
			if got.code != 0 || got.stdout != "Beta\n" {
				t.Errorf("exit %d, stdout %q, want Beta", got.code, got.stdout)
			}
			if strings.Contains(string(p.screen), "\x1b") {
				t.Errorf("escape sequences in %q", p.screen)
			}
		})
	}
}

func TestEditorOfThePersonWritesLongText(t *testing.T) {
	peopleStore(t)
	script := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf 'from the editor\\nand more\\n' > \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := sits(t, nil, []string{"VISUAL=", "EDITOR=" + script}, "ask", "Why?")
	p.sees("Ctrl+E editor")
	p.types("\x05")
	p.sees("from the editor")
	p.types("\r")
	if got := p.ends(); got.code != 0 || got.stdout != "from the editor\nand more\n" {
		t.Errorf("exit %d, stdout %q", got.code, got.stdout)
	}
}

func TestInboxIsLive(t *testing.T) {
	peopleStore(t)
	p := sits(t, nil, nil, "inbox")
	p.sees("No questions are waiting")
	// While it is open somebody can be reached, even from a build.
	t.Setenv("CI", "true")
	a := asks(t, "--confirm", "Deploy?")
	p.sees("Deploy?")
	p.forgets()
	p.types("y")
	p.sees("x) Yes")
	p.types("\r")
	if got := a.ends(); got.code != 0 || got.stdout != "yes\n" {
		t.Errorf("the asker: exit %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
	p.sees("answered in the terminal")
	p.types("q")
	if got := p.ends(); got.code != 0 || got.stdout != "" {
		t.Errorf("inbox: exit %d, stdout %q", got.code, got.stdout)
	}
}

func TestInboxLineByLine(t *testing.T) {
	peopleStore(t)
	t.Setenv("TERM", "dumb")
	a := asks(t, "Name?")
	p := sits(t, nil, []string{"TERM=dumb"}, "inbox")
	p.sees("1. Name?")
	p.types("1\n")
	p.sees("Type your answer.")
	p.types("Ada\n")
	if got := a.ends(); got.code != 0 || got.stdout != "Ada\n" {
		t.Errorf("the asker: exit %d, stdout %q", got.code, got.stdout)
	}
	p.sees("answered in the terminal")
	p.types("q\n")
	if got := p.ends(); got.code != 0 {
		t.Errorf("inbox: exit %d", got.code)
	}
}

// Nobody is asked at a terminal that a build has, nor where nothing of the
// command is at it.
func TestBuildsHaveNobodyAtTheTerminal(t *testing.T) {
	peopleStore(t)
	p := sits(t, nil, []string{"CI=true"}, "ask", "Name?")
	if got := p.ends(); got.code != 5 {
		t.Errorf("with CI: exit %d, screen %q, want 5", got.code, got.stderr)
	}
	p = sits(t, nil, nil, "ask", "Name?", "--no-tty", "--timeout", "200ms")
	if got := p.ends(); got.code != 124 || !strings.Contains(got.stderr, "answer it in \"deskhand inbox\"") {
		t.Errorf("with --no-tty: exit %d, screen %q, want 124", got.code, got.stderr)
	}
}

// At a terminal it would seem to hang.
func TestServeAtATerminalSaysWhatItIsFor(t *testing.T) {
	peopleStore(t)
	p := sits(t, nil, nil, "serve", "--tools", "ask")
	p.sees("deskhand: serving MCP on stdin and stdout")
	p.types("\x03")
	if got := p.ends(); got.stdout != "" {
		t.Errorf("serve at a terminal wrote %q to stdout, which is for the protocol", got.stdout)
	}
}
