package docs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract/contracttest"
	"github.com/deskhand/deskhand/runtime/goldentest"
)

func TestGoldenSchemas(t *testing.T) { contracttest.GoldenSchemas(t, Tools(harbour(t), Options{})) }

// A conversation is a file of calls, each a line that begins with ">>> ", and
// below each what the tool says, JSON indented so that a change shows as a few
// lines; a refusal is marked by "!". The lines above the first call are what it is about.
func TestGoldenConversations(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("conversations %q, %v", files, err)
	}
	all := toolsOf(harbour(t), Options{})
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			goldentest.Compare(t, file, string(converse(t, all, string(script))))
		})
	}
}

// converse makes the calls of a conversation and writes it with the answers.
func converse(t *testing.T, all tools, script string) []byte {
	t.Helper()
	about, calls, found := strings.Cut(script, "\n>>> ")
	if !found {
		t.Fatal("no call in the conversation")
	}
	var b bytes.Buffer
	b.WriteString(about)
	for call := range strings.SplitSeq(calls, "\n>>> ") {
		call, _, _ = strings.Cut(call, "\n")
		name, arguments, _ := strings.Cut(call, " ")
		text, _, refused := all.ask(t, name, arguments)
		b.WriteString("\n>>> " + call + "\n")
		if refused {
			b.WriteString("! ")
		}
		if !strings.HasPrefix(text, "{") || json.Indent(&b, []byte(text), "", "  ") != nil {
			b.WriteString(text)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
