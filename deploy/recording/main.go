// Command recording runs a session with the real program at a terminal, and draws what the
// terminal showed as an animated SVG. "make recording" runs it on docs/recording.txt.
//
// The session file has a line for each step:
//
//	# a comment
//	! command         runs in a shell without being shown
//	$ command         types the command at the prompt and runs it
//	> text | keys     waits until the screen has the text, then presses the keys
//
// The steps run in an empty folder, with a home of their own. The recording is also written as
// an asciicast (version 2), which other players can show.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The size of the terminal.
const (
	columns = 92
	rows    = 22
)

// event is output of the terminal at a time, in seconds from the start.
type event struct {
	at   float64
	text string
}

func main() {
	session := flag.String("session", "docs/recording.txt", "the steps")
	cast := flag.String("cast", "docs/recording.cast", "the asciicast; with -draw it is read, otherwise written")
	out := flag.String("out", "docs/recording.svg", "the picture to write")
	draw := flag.Bool("draw", false, "draw the asciicast again instead of running the session")
	program := flag.String("program", "bin/deskhand", "the program to record")
	flag.Parse()
	if err := run(*session, *cast, *out, *program, *draw); err != nil {
		fmt.Fprintf(os.Stderr, "recording: %v\n", err)
		os.Exit(1)
	}
}

func run(session, cast, out, program string, draw bool) error {
	if !draw {
		text, err := os.ReadFile(session)
		if err != nil {
			return err
		}
		steps, err := parse(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", session, err)
		}
		if program, err = filepath.Abs(program); err != nil {
			return err
		}
		events, err := record(steps, program)
		if err != nil {
			return err
		}
		if err := os.WriteFile(cast, encode(events), 0o644); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(cast)
	if err != nil {
		return err
	}
	events, err := decode(text)
	if err != nil {
		return fmt.Errorf("%s: %w", cast, err)
	}
	return os.WriteFile(out, svg(frames(events)), 0o644)
}

// step is a line of a session.
type step struct {
	kind byte // '!', '$' or '>'
	text string
	keys string // for '>'
}

func parse(text string) (steps []step, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		s := step{kind: kind[0], text: rest}
		if kind == ">" {
			var ok bool
			if s.text, s.keys, ok = strings.Cut(rest, " | "); !ok {
				return nil, fmt.Errorf("line %d: write it as > text | keys", i+1)
			}
			s.keys = strings.NewReplacer("ENTER", "\r", "DOWN", "\x1b[B", "SPACE", " ").Replace(s.keys)
		} else if kind != "!" && kind != "$" {
			return nil, fmt.Errorf("line %d: begin it with !, $, > or #", i+1)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func encode(events []event) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"version\": 2, \"width\": %d, \"height\": %d}\n", columns, rows)
	for _, e := range events {
		text, _ := json.Marshal(e.text) // a string has no error
		fmt.Fprintf(&b, "[%.3f, \"o\", %s]\n", e.at, text)
	}
	return b.Bytes()
}

func decode(cast []byte) (events []event, err error) {
	lines := strings.Split(strings.TrimSpace(string(cast)), "\n")
	for _, line := range lines[1:] {
		var parts [3]any
		if err := json.Unmarshal([]byte(line), &parts); err != nil {
			return nil, err
		}
		at, timed := parts[0].(float64)
		text, written := parts[2].(string)
		if !timed || !written {
			return nil, fmt.Errorf("not an event: %s", line)
		}
		events = append(events, event{at, text})
	}
	return events, nil
}
