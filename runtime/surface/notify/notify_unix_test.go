//go:build unix

package notify

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Text from an agent is plain text on a desktop, never an option or markup.
func TestDesktopGetsPlainText(t *testing.T) {
	cmd := desktop(t.Context(), Message{Title: "--icon=/x <b>&", Body: `<img src="http://x/"> & <a href="y">z</a>`})
	if runtime.GOOS == "darwin" {
		if last := cmd.Args[len(cmd.Args)-2:]; last[0] != "--icon=/x <b>&" {
			t.Errorf("osascript gets %q, want title and body as arguments", last)
		}
		return
	}
	want := []string{"--", "--icon=/x <b>&", `&lt;img src="http://x/"&gt; &amp; &lt;a href="y"&gt;z&lt;/a&gt;`}
	if got := cmd.Args[len(cmd.Args)-3:]; !slices.Equal(got, want) {
		t.Errorf("notify-send gets %q, want %q", got, want)
	}
}

func TestCommandGetsTheMessage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	script := filepath.Join(t.TempDir(), "tell")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat >'"+out+".tmp'; echo \"$DESKHAND_QUESTION_TITLE\" >>'"+out+".tmp'; mv '"+out+".tmp' '"+out+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := hook(t, "command:"+script)
	if _, err := h.deliver(t.Context(), Message{Title: "$(touch /nowhere)", Body: "b"}, ""); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(data), `"body":"b"`) || !strings.HasSuffix(string(data), "$(touch /nowhere)\n") {
		t.Errorf("the command got %s, %v", data, err)
	}
}
