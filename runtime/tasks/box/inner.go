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
	"syscall"
)

// Inner is what this program sets up in a sandbox before it runs the other
// program.
type Inner struct {
	Links, Copies [][2]string `json:",omitempty"` // from, to
	Landlock      *Rules      `json:",omitempty"`
	// Socket is the path of the [Proxy] outside. Ports lead through it to the
	// same ports there; the port Proxy leads to it for everything else.
	Socket string `json:",omitempty"`
	Ports  []int  `json:",omitempty"`
	Proxy  int    `json:",omitempty"`
	// Image is true if the file system is that of an image. A program that is not
	// at its path there is looked up by its name.
	Image bool `json:",omitempty"`
	// Alive is a file that the process outside keeps locked. Empty: nothing
	// watches that process.
	Alive string `json:",omitempty"`
}

func (in Inner) relays() bool { return in.Socket != "" }

// exitBroken is the code of a sandbox that could not be made.
const exitBroken = 125

// Args are the arguments with which this program calls [Main].
var Args = []string{"tasks", "boxed"}

// Main sets up a sandbox and runs a program in it. args is an [Inner] as JSON,
// "--" and a command line. It returns an exit code, or does not return because
// it has become the other program.
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
	if err := in.placeFiles(); err != nil {
		return exitBroken, err
	}
	line := args[2:]
	program, err := exec.LookPath(line[0])
	if err != nil && in.Image {
		program, err = exec.LookPath(filepath.Base(line[0]))
	}
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

// placeFiles makes the links and copies.
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

// runProgram runs the program beside the relay and returns its exit code.
func (in Inner) runProgram(program string, line []string) (int, error) {
	cmd := exec.Command(program)
	cmd.Args, cmd.Stdin, cmd.Stdout, cmd.Stderr = line, os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return exitBroken, err
	}
	if in.Image { // elsewhere the group gets a signal, and so the program has got it too
		go func() {
			for s := range signals {
				_ = cmd.Process.Signal(s) // it has ended
			}
		}()
	}
	err := cmd.Wait()
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
