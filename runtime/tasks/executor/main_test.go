package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "acp-double" {
		os.Exit(doubleMain(strings.Join(os.Args[2:], "")))
	}
	os.Exit(m.Run())
}

// memory is a Log that tests can read.
type memory struct {
	mu       sync.Mutex
	raw      map[logs.Stream]*bytes.Buffer
	entries  []logs.Entry
	replaced int // number of replaced entries
}

func (m *memory) Raw(s logs.Stream, p []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.raw == nil {
		m.raw = map[logs.Stream]*bytes.Buffer{}
	}
	if m.raw[s] == nil {
		m.raw[s] = &bytes.Buffer{}
	}
	m.raw[s].Write(p)
}

func (m *memory) Append(e logs.Entry) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = append(m.entries, e)
	return int64(len(m.entries) - 1)
}

func (m *memory) Replace(i int64, e logs.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries[i] = e
	m.replaced++
}

func (m *memory) said(s logs.Stream) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.raw[s] == nil {
		return ""
	}
	return m.raw[s].String()
}

// text returns one line for each entry: its kind, its tool's status, and its content.
func (m *memory) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, e := range m.entries {
		fmt.Fprintf(&b, "%s %q", e.Type.Kind, e.Content)
		if a := e.Type.Action; a != nil {
			data, err := json.Marshal(a)
			if err != nil {
				data = []byte(err.Error())
			}
			fmt.Fprintf(&b, " %s %s %s", e.Type.Tool, e.Type.Status.Status, data)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// table returns a table with a test's agents and the built-in ones.
func table(t testing.TB, configs map[string]Config) *Table {
	t.Helper()
	table, err := New(configs)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// run runs an agent until it ends.
func run(t testing.TB, tb *Table, id string, s Spec) (Result, *memory) {
	t.Helper()
	r, log := start(t, tb, id, s)
	select {
	case <-r.Done():
	case <-time.After(2 * time.Minute):
		r.Kill()
		t.Fatalf("%s does not end; it said %s", id, log.text())
	}
	return r.Wait(), log
}

func start(t testing.TB, tb *Table, id string, s Spec) (*Run, *memory) {
	t.Helper()
	log := &memory{}
	s.Log = log
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	if s.Env == nil {
		s.Env, _ = Environment(os.Environ(), []string{"GORACE"})
	}
	r, err := tb.Start(t.Context(), id, s)
	if err != nil {
		t.Fatalf("Start(%s): %v", id, err)
	}
	t.Cleanup(func() { r.Kill(); r.Wait() })
	return r, log
}

// until waits until so returns true.
func until(t testing.TB, what string, so func() bool) {
	t.Helper()
	waittest.Until(t, what, func() (bool, any) { return so(), nil })
}

func wantFault(t testing.TB, call string, err error, code, says string) {
	t.Helper()
	if f := fault.Of(err); f == nil || f.Code != code || !strings.Contains(f.Message, says) {
		t.Errorf("%s: %v, want fault %s with %q", call, err, code, says)
	}
}
