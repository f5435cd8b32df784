// Package console is what commands read and write: what they print for people, on
// a terminal or elsewhere, and what they ask at one. Nothing of it knows flags.
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

// Console is the three streams of a command.
type Console struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// JSON prints v for programs.
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

// Tell says something on stderr that is no error.
func (c *Console) Tell(text string) {
	fmt.Fprintf(c.Stderr, "deskhand: %s\n", PainterFor(c.Stderr).Plain(text))
}

// Device is the terminal of a person who can be asked there; nil if there is
// none, or if nothing of this command is at it.
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

// OnTerminal says that a stream is a terminal.
func OnTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Linewise says that a terminal is to be talked to line by line; plain is what was
// asked for.
func Linewise(plain bool) bool {
	return plain || Dumb() || os.Getenv("TERM") == "" && runtime.GOOS != "windows" || strings.TrimSpace(os.Getenv("ACCESSIBLE")) != ""
}

// mostTyped bounds a text that is read from stdin, in bytes.
const mostTyped = 1 << 20

// TextOf is a text given as a flag or argument; "-" reads it from stdin.
func (c *Console) TextOf(given string) (string, error) {
	if given != "-" {
		return given, nil
	}
	b, err := io.ReadAll(io.LimitReader(c.Stdin, mostTyped+1))
	if err != nil {
		return "", fmt.Errorf("read stdin: %w", err)
	}
	if len(b) > mostTyped || !utf8.Valid(b) {
		return "", fault.Misuse("stdin has more than 1 MiB, or is not UTF-8 text", "put it into a file of the repository and name that")
	}
	return strings.TrimRight(string(b), "\n"), nil
}

// OneLine is a title in a table.
func OneLine(s string) string {
	return textutil.Shorten(textutil.OneLine(s), 70)
}

// mostKey is more than any key has, in bytes.
const mostKey = 64 << 10

// ReadKey asks for a key at a terminal, without showing it, or reads stdin.
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

// Line writes one line to stdout, safe for a terminal.
func (c *Console) Line(format string, args ...any) error {
	_, err := io.WriteString(c.Stdout, PainterFor(c.Stdout).Plain(fmt.Sprintf(format, args...))+"\n")
	return err
}
