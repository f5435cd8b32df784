// Package console prints the output of commands for people, on a terminal or elsewhere,
// and asks questions at a terminal. It does not depend on flags.
package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/surface/terminal"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Console holds a command's three streams.
type Console struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// JSON prints v as indented JSON.
func (c *Console) JSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(c.Stdout, PainterFor(c.Stdout).Plain(b.String()))
	return err
}

// Tell prints a message on stderr that is not an error.
func (c *Console) Tell(text string) {
	fmt.Fprintf(c.Stderr, "deskhand: %s\n", PainterFor(c.Stderr).Plain(text))
}

// Device returns the terminal at which a person can be asked. It returns nil if there is
// no terminal, or if none of the command's streams is a terminal.
func (c *Console) Device() *terminal.Device {
	if !OnTerminal(c.Stdin) && !OnTerminal(c.Stdout) && !OnTerminal(c.Stderr) {
		return nil
	}
	d, err := terminal.Open()
	if err != nil {
		return nil
	}
	return d
}

// OnTerminal reports whether a stream is a terminal.
func OnTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Linewise reports whether to use the terminal line by line. The parameter plain
// reports whether the user requested this mode.
func Linewise(plain bool) bool {
	return plain || Dumb() || os.Getenv("TERM") == "" && runtime.GOOS != "windows" || strings.TrimSpace(os.Getenv("ACCESSIBLE")) != ""
}

// mostTyped is the maximum size in bytes of text read from stdin.
const mostTyped = 1 << 20

// TextOf returns the text given as a flag or argument. For "-", it reads stdin.
func (c *Console) TextOf(given string) (string, error) {
	if given != "-" {
		return given, nil
	}
	b, err := io.ReadAll(io.LimitReader(c.Stdin, mostTyped+1))
	if err != nil {
		return "", fmt.Errorf("read stdin: %w", err)
	}
	if len(b) > mostTyped || !utf8.Valid(b) {
		return "", fault.Misuse("stdin has more than 1 MiB, or is not UTF-8 text", "put it into a file in the repository and refer to that file")
	}
	return strings.TrimRight(string(b), "\n"), nil
}

// OneLine returns s on one line, shortened for a table.
func OneLine(s string) string {
	return textutil.Shorten(textutil.OneLine(s), 70)
}

// mostKey is larger than any key, in bytes.
const mostKey = 64 << 10

// ReadKey asks for a key at the terminal without showing it, or reads it from stdin.
func (c *Console) ReadKey(name string) (string, error) {
	if f, ok := c.Stdin.(*os.File); ok && OnTerminal(f) {
		fmt.Fprintf(c.Stderr, "Key or token for %s (not shown): ", name)
		key, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(c.Stderr)
		if err != nil {
			return "", fmt.Errorf("read key: %w", err)
		}
		return string(key), nil
	}
	key, err := io.ReadAll(io.LimitReader(c.Stdin, mostKey))
	if err != nil {
		return "", fmt.Errorf("read key: %w", err)
	}
	if strings.TrimSpace(string(key)) == "" {
		return "", fault.New("misuse", "there is no key on stdin", "run it at a terminal, or pipe the key into it")
	}
	return string(key), nil
}

// Line writes one line to stdout, without characters that could control a terminal.
func (c *Console) Line(format string, args ...any) error {
	_, err := io.WriteString(c.Stdout, PainterFor(c.Stdout).Plain(fmt.Sprintf(format, args...))+"\n")
	return err
}
