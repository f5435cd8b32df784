package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// How fast the session is typed, how long a finished command stays on the screen before the next
// one, and how long a pause of the program becomes at most. All in seconds.
const (
	typing   = 0.045
	reading  = 1.6
	longest  = 1.0
	thinking = 0.9
)

// patience is how long a step may take.
const patience = 60 * time.Second

const prompt = "\x1b[36m$\x1b[0m "

// terminal is a terminal of Linux, and what was written to it.
type terminal struct {
	pty *os.File
	tty string

	mu     sync.Mutex
	screen screen
	events []event
	now    float64   // the recording's clock
	last   time.Time // of the last output
}

// record runs the steps and returns what the terminal showed, with shortened pauses.
func record(steps []step, program string) ([]event, error) {
	dir, err := os.MkdirTemp("", "recording-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"home", "shop"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	t, err := openTerminal()
	if err != nil {
		return nil, err
	}
	defer t.pty.Close()
	r := recorder{t: t, dir: filepath.Join(dir, "shop"), env: []string{"HOME=" + filepath.Join(dir, "home"), "TERM=xterm-256color", "LANG=C.UTF-8",
		"PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH"), "DESKHAND_INBOX=off"}}
	for i := 0; i < len(steps); i++ {
		to := i + 1
		for to < len(steps) && steps[to].kind == '>' {
			to++
		}
		if err := r.step(steps[i], steps[i+1:to]); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", steps[i].text, err, t.shown())
		}
		i = to - 1
	}
	t.show(prompt)
	return t.events, nil
}

func openTerminal() (*terminal, error) {
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	number, err := unix.IoctlGetInt(int(pty.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(pty.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	}
	if err != nil {
		return nil, errors.Join(err, pty.Close())
	}
	return &terminal{pty: pty, tty: "/dev/pts/" + strconv.Itoa(number)}, nil
}

// show adds output at the recording's current time.
func (t *terminal) show(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.write(text)
	t.events = append(t.events, event{t.now, text})
}

// pause moves the recording's clock.
func (t *terminal) pause(seconds float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now += seconds
	t.last = time.Now()
}

func (t *terminal) shown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.text()
}

// read shows what programs write, until the terminal has no more programs.
func (t *terminal) read() {
	b := make([]byte, 4096)
	for {
		n, err := t.pty.Read(b)
		if n > 0 {
			t.pause(min(longest, t.since()))
			t.show(string(b[:n]))
		}
		if err != nil {
			return
		}
	}
}

func (t *terminal) since() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Since(t.last).Seconds()
}

type recorder struct {
	t   *terminal
	dir string
	env []string
}

// step runs one command. keys are pressed while it runs.
func (r *recorder) step(s step, keys []step) error {
	cmd := exec.Command("sh", "-c", s.text)
	cmd.Dir, cmd.Env = r.dir, r.env
	if s.kind == '!' {
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, said)
		}
		return nil
	}
	r.t.show(prompt)
	r.t.pause(thinking)
	for _, letter := range s.text {
		r.t.show(string(letter))
		r.t.pause(typing)
	}
	r.t.show("\r\n")
	tty, err := os.OpenFile(r.t.tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	r.t.pause(0)
	if err := cmd.Start(); err != nil {
		return errors.Join(err, tty.Close())
	}
	tty.Close()
	var output sync.WaitGroup
	output.Go(r.t.read)
	err = r.press(keys)
	limit := time.AfterFunc(patience, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	if err != nil {
		limit.Reset(0)
	}
	err = errors.Join(err, cmd.Wait())
	limit.Stop()
	output.Wait() // the terminal reports its end once no program has it open
	r.t.pause(reading)
	return err
}

// press waits for each text and presses its keys.
func (r *recorder) press(keys []step) error {
	for _, k := range keys {
		for end := time.Now().Add(patience); !strings.Contains(r.t.shown(), k.text); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("the screen never had %q", k.text)
			}
		}
		time.Sleep(200 * time.Millisecond) // the program may still draw
		r.t.pause(reading)
		if _, err := r.t.pty.WriteString(k.keys); err != nil {
			return err
		}
	}
	return nil
}
