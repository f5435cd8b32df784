//go:build unix

package notify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandGetsTheMessage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	script := filepath.Join(t.TempDir(), "tell")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat >'"+out+".tmp'; echo \"$DESKHAND_QUESTION_TITLE\" >>'"+out+".tmp'; mv '"+out+".tmp' '"+out+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h := hook(t, "command:"+script)
	if err := h.deliver(t.Context(), Message{Title: "$(touch /nowhere)", Body: "b"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(data), `"body":"b"`) || !strings.HasSuffix(string(data), "$(touch /nowhere)\n") {
		t.Errorf("the command got %s, %v", data, err)
	}
}
