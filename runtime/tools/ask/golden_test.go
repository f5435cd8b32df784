package ask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract/contracttest"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/goldentest"
)

func TestGoldenSchemas(t *testing.T) { contracttest.GoldenSchemas(t, New(Options{}).Tools()) }

// A conversation is a file of calls, each a line that begins with ">>> ". Below
// it a line that begins with "<<< " is what a person does meanwhile, and then
// comes the result: its texts, and what is beside them. The conversation is the
// same in both eras.
func TestGoldenConversations(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("conversations %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			eras(t, func(t *testing.T, version string) {
				script, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				goldentest.Compare(t, file, string(converse(t, version, string(script))))
			})
		})
	}
}

func converse(t *testing.T, version, script string) []byte {
	t.Helper()
	place := t.TempDir()
	agent := callerOf(t, place, version, Options{Context: elicit.Context{CWD: "/src"}}, mcp.ClientOptions{})
	human := personAt(t, place)
	about, calls, found := strings.Cut(script, "\n>>> ")
	if !found {
		t.Fatal("no call in the conversation")
	}
	var b bytes.Buffer
	b.WriteString(about + "\n")
	names := stable{}
	for call := range strings.SplitSeq(calls, "\n>>> ") {
		lines := strings.Split(call, "\n")
		tool, arguments, _ := strings.Cut(names.back(lines[0]), " ")
		replies := agent.calls(t.Context(), tool, arguments, nil)
		b.WriteString(">>> " + lines[0] + "\n")
		if len(lines) > 1 && strings.HasPrefix(lines[1], "<<< ") {
			b.WriteString(lines[1] + "\n")
			human.plays(names.back(strings.TrimPrefix(lines[1], "<<< ")))
		}
		b.WriteString(names.in(shown(t, got(t, replies))) + "\n")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// plays does what a line says: a word, and what it is done with.
func (p person) plays(line string) {
	p.t.Helper()
	what, with, _ := strings.Cut(line, " ")
	var r elicit.Request
	if what == "late" {
		id, rest, _ := strings.Cut(with, " ")
		r, with = p.becomes(id, elicit.ExpiredOpen), rest
	} else {
		r = p.sees()
	}
	switch what {
	case "answers", "late":
		var byNumber map[string][]string
		if err := json.Unmarshal([]byte(with), &byNumber); err != nil {
			p.t.Fatal(err)
		}
		fields := map[string][]string{}
		for i, q := range r.Questions {
			for _, suffix := range []string{"", elicit.OtherSuffix} {
				if texts, ok := byNumber[fmt.Sprintf("#%d%s", i+1, suffix)]; ok {
					fields[q.ID+suffix] = texts
				}
			}
		}
		answers, err := r.Fields(fields)
		if err != nil {
			p.t.Fatal(err)
		}
		p.does(elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: answers, Note: strings.Join(byNumber["note"], "")})
	case "declines":
		p.does(elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Decline, Note: with})
	case "cancels":
		p.does(elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Cancel})
	case "waits": // until the time is up
		p.expires(r)
	default:
		p.t.Fatalf("what does %q mean?", line)
	}
}

// shown is a result for people: its texts, and what is beside them.
func shown(t *testing.T, r reply) string {
	t.Helper()
	if r.err != nil {
		t.Fatal(r.err)
	}
	text := strings.Join(r.texts(), "\n") + "\n"
	if r.IsError {
		text = "! " + text
	}
	if r.StructuredContent != nil && !r.IsError {
		structured, _ := json.Marshal(r.StructuredContent)
		var alone, first map[string]any
		if json.Unmarshal(structured, &alone) != nil {
			t.Fatalf("structured content %s is no object", structured)
		}
		if json.Unmarshal([]byte(r.texts()[0]), &first) == nil {
			for field, want := range first { // those of the specification
				if !reflect.DeepEqual(alone[field], want) {
					t.Errorf("structured content has %s %v, the text %v; want the same", field, alone[field], want)
				}
			}
			if hint, _ := alone["hint"].(string); hint != strings.Join(r.texts()[1:], "\n") {
				t.Errorf("structured content has the hint %q, and the texts are %q", hint, r.texts())
			}
			maps.DeleteFunc(alone, func(field string, _ any) bool { return first[field] != nil || field == "hint" })
		}
		beside, _ := json.Marshal(alone)
		text += "structured: " + string(beside) + "\n"
	}
	meta := map[string]any{}
	for key, value := range r.Meta {
		if strings.HasPrefix(key, "deskhand/") {
			meta[key] = value
		}
	}
	if len(meta) > 0 {
		b, _ := json.Marshal(meta)
		text += "meta: " + string(b) + "\n"
	}
	return text
}

// stable gives what is made up anew in each run names that stay.
type stable map[string]string // from what was made to its name

var (
	madeUp = regexp.MustCompile(`elc_[0-9A-Z]{26}|q_[0-9a-z]{6}\b`)
	aTime  = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	aSpan  = regexp.MustCompile(`\b(4m5\d|29m5\d|5\d|9)s|\b[45]m\b`)
)

func (s stable) in(text string) string {
	text = madeUp.ReplaceAllStringFunc(text, func(made string) string {
		if s[made] == "" {
			kind, _, _ := strings.Cut(made, "_")
			s[made] = fmt.Sprintf("%s_%d", strings.ToUpper(kind), len(s)+1)
		}
		return s[made]
	})
	return aSpan.ReplaceAllString(aTime.ReplaceAllString(text, "TIME"), "SPAN")
}

// back puts what was made up for names.
func (s stable) back(line string) string {
	for made, name := range s {
		line = strings.ReplaceAll(line, name, made)
	}
	return line
}
