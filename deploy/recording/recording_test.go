package main

import (
	"os"
	"strings"
	"testing"
)

func TestAScreenShowsWhatATerminalShows(t *testing.T) {
	for name, c := range map[string]struct{ written, want string }{
		"lines":               {"one\r\ntwo", "one\ntwo"},
		"progress":            {"reading 1/2\r\x1b[Kreading 2/2", "reading 2/2"},
		"colours":             {"\x1b[1mbold\x1b[0m \x1b[36mcyan\x1b[m", "bold cyan"},
		"places":              {"\x1b[2;3Hx\x1b[1;1Hy", "y\n  x"},
		"another screen":      {"main\x1b[?1049hform\x1b[?1049l!", "main!"},
		"a long line":         {strings.Repeat("a", columns) + "b", strings.Repeat("a", columns) + "\nb"},
		"titles are not text": {"\x1b]2;title\x07text", "text"},
		"characters":          {"é ─ (•)", "é ─ (•)"},
	} {
		var s screen
		for _, part := range strings.SplitAfter(c.written, ";") { // also in the middle of a sequence
			s.write(part)
		}
		if got := strings.TrimRight(s.text(), "\n"); got != c.want {
			t.Errorf("%s: %q is shown as %q, want %q", name, c.written, got, c.want)
		}
	}
	var s screen
	for range rows + 1 {
		s.write("line\r\n")
	}
	s.write("last")
	if text := s.text(); strings.Count(text, "line") != rows-1 || !strings.HasSuffix(text, "last\n") {
		t.Errorf("a full screen is\n%s", text)
	}
}

// The picture in README.md is of the session that lies beside it.
func TestThePictureIsOfTheSession(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	events, err := decode(read("recording.cast"))
	if err != nil {
		t.Fatal(err)
	}
	all := frames(events)
	if string(svg(all)) != string(read("recording.svg")) {
		t.Error("docs/recording.svg is not what docs/recording.cast draws: go run ./deploy/recording -draw")
	}
	var shown strings.Builder
	for _, e := range events {
		shown.WriteString(e.text)
	}
	steps, err := parse(string(read("recording.txt")))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.kind == '$' && !strings.Contains(shown.String(), s.text+"\r\n") {
			t.Errorf("the recording does not have %q: make recording", s.text)
		}
	}
	for _, said := range []string{"Roll back a release", "Deploy to production?", "landed"} {
		if !strings.Contains(shown.String(), said) {
			t.Errorf("the recording does not show %q", said)
		}
	}
}
