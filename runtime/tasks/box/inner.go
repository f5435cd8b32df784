package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// Inner specifies what this program sets up in a sandbox before it runs another
// program there.
type Inner struct {
	Links, Copies [][2]string `json:",omitempty"` // pairs of source and destination
	Landlock      *Rules      `json:",omitempty"`
	// Socket is the path of the [Proxy] outside. Connections to Ports are
	// forwarded through it to the same ports outside. All other connections go
	// to the proxy through the port in Proxy.
	Socket string `json:",omitempty"`
	Ports  []int  `json:",omitempty"`
	Proxy  int    `json:",omitempty"`
	// Image reports whether the file system comes from a container image. In
	// that case, a program that is missing at its path is looked up by name.
	Image bool `json:",omitempty"`
	// Env is added to the environment. It contains no secrets, because the
	// process list shows it.
	Env []string `json:",omitempty"`
	// Job runs the program in a Job of Kubernetes. In its pod, Served is true.
	Job    *Job `json:",omitempty"`
	Served bool `json:",omitempty"`
	// Alive is the path of a file that a process outside keeps locked. The
	// sandbox ends when that process exits. If Alive is empty, no process is
	// watched.
	Alive string `json:",omitempty"`
}

func (in Inner) relays() bool { return in.Socket != "" }

// exitBroken is the exit code if the sandbox could not be set up.
const exitBroken = 125

// Args holds the arguments that make this program call [Main].
var Args = []string{"tasks", "boxed"}

// Main sets up a sandbox and runs a program in it. args is an [Inner] as JSON,
// "--", and a command line. Main returns an exit code, unless the program
// replaces this process.
func Main(args []string, stderr io.Writer) int {
	code, err := boxedMain(args)
	if err != nil {
		fmt.Fprintf(stderr, "deskhand: sandbox: %v\n", err)
	}
	return code
}

func boxedMain(args []string) (int, error) {
	if len(args) < 3 || args[1] != "--" {
		return exitBroken, errors.New("deskhand runs this command itself")
	}
	var in Inner
	if err := json.Unmarshal([]byte(args[0]), &in); err != nil {
		return exitBroken, err
	}
	line := args[2:]
	switch {
	case in.Job != nil:
		return in.runJob(line)
	case in.Served:
		return serveJob(os.Stdin, os.Stdout)
	}
	if err := in.prepare(); err != nil {
		return exitBroken, err
	}
	program, err := in.find(line[0])
	if err != nil {
		return 127, err
	}
	if in.Landlock != nil {
		if err := in.Landlock.restrict(); err != nil {
			return exitBroken, err
		}
	}
	if !in.relays() && in.Alive == "" {
		return exitBroken, execProgram(program, line)
	}
	if in.relays() {
		if err := in.relay(); err != nil {
			return exitBroken, err
		}
	}
	in.endWith()
	return in.runProgram(program, line)
}

// prepare places the files and sets the environment.
func (in Inner) prepare() error {
	if err := in.placeFiles(); err != nil {
		return err
	}
	for _, v := range in.Env {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if in.Image {
		findable()
	}
	return nil
}

// find returns the path of a program.
func (in Inner) find(name string) (program string, err error) {
	program, err = exec.LookPath(name)
	if err != nil && in.Image {
		program, err = exec.LookPath(filepath.Base(name))
	}
	return program, err
}

// findable adds this program's folder to the end of the search path, so that an agent
// in an image can call deskhand.
func findable() {
	if self, err := os.Executable(); err == nil {
		os.Setenv("PATH", os.Getenv("PATH")+string(os.PathListSeparator)+filepath.Dir(self))
	}
}

// placeFiles creates the links and copies.
func (in Inner) placeFiles() error {
	for _, l := range in.Links {
		if err := os.MkdirAll(filepath.Dir(l[1]), 0o700); err != nil {
			return err
		}
		if err := os.Symlink(l[0], l[1]); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	for _, c := range in.Copies {
		text, err := os.ReadFile(c[0])
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(c[1]), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(c[1], text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// runProgram runs the program while the relay is running. It returns the
// program's exit code.
func (in Inner) runProgram(program string, line []string) (int, error) {
	cmd := exec.Command(program)
	cmd.Args, cmd.Stdin, cmd.Stdout, cmd.Stderr = line, os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return exitBroken, err
	}
	if in.Image { // in other sandboxes, signals reach the program through its group
		go func() {
			for s := range signals {
				_ = cmd.Process.Signal(s) // an error means that the program has already exited
			}
		}()
	}
	return exitCode(cmd.Wait())
}

// exitCode returns the exit code of a program whose Wait returned err, as shells do.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	case errors.As(err, &exit):
		return 128 + signalOf(exit), nil
	}
	return exitBroken, err
}
