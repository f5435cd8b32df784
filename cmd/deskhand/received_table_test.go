//go:build unix && agents

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// intake is what one client handed its model.
type intake struct {
	client, version string
	took            time.Duration
	rows            []row
}

// row is one call.
type row struct {
	tool, shows, text string
	wants             int // words that the model has to receive
	missing           []string
	skipped           string // why it was not called; empty: it was
}

// Where the table stands in docs/clients.md.
const tableBegins, tableEnds = "<!-- make received writes from here -->\n", "<!-- to here -->\n"

// show prints a line for each client and tool, and writes them into the file that
// RECEIVED names if every client was asked and nothing is missing.
func show(t *testing.T, tables []intake, modules string) {
	var out strings.Builder
	out.WriteString("| Client | Tool | Calls | Tokens received | Words found | |\n| --- | --- | --- | --- | --- | --- |\n")
	whole := true
	for _, one := range tables {
		whole = whole && len(one.rows) > 0
		one.write(&out, tokensOf(t, modules, one.rows))
	}
	for _, one := range tables {
		if len(one.rows) > 0 {
			fmt.Printf("%s %s took %s\n", one.client, one.version, one.took.Round(time.Second))
		}
	}
	fmt.Printf("\n%s\n", out.String())
	file := os.Getenv("RECEIVED")
	if file == "" {
		return
	}
	if t.Failed() || !whole {
		t.Fatalf("%s stays as it is: it is written if all clients are asked and nothing is missing", file)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", file)
	}
	if err := os.WriteFile(file, []byte(before+tableBegins+"\n"+out.String()+"\n"+tableEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// write adds a line for each tool, in the order of its first call.
func (one intake) write(out *strings.Builder, tokens []int) {
	type line struct {
		calls, tokens, wants, missing int
		skipped                       string
	}
	lines, order := map[string]*line{}, []string{}
	for i, r := range one.rows {
		l := lines[r.tool]
		if l == nil {
			l = &line{}
			lines[r.tool], order = l, append(order, r.tool)
		}
		if r.skipped != "" {
			l.skipped = "skipped " + r.shows + ": " + r.skipped
			continue
		}
		l.calls++
		l.tokens += tokens[i]
		l.wants += r.wants
		l.missing += len(r.missing)
	}
	for _, tool := range order {
		l := lines[tool]
		var verdict []string
		if l.missing > 0 {
			verdict = append(verdict, fmt.Sprintf("**%d missing**", l.missing))
		}
		if l.skipped != "" {
			verdict = append(verdict, l.skipped)
		}
		fmt.Fprintf(out, "| %s %s | `%s` | %d | %d | %d of %d | %s |\n", one.client, one.version, tool, l.calls, l.tokens, l.wants-l.missing, l.wants, cmp.Or(strings.Join(verdict, "; "), "ok"))
	}
}

// tokens counts those of each row in o200k_base, with the package js-tiktoken
// that is installed beside the clients.
func tokensOf(t *testing.T, modules string, rows []row) []int {
	t.Helper()
	texts := []string{}
	for _, r := range rows {
		texts = append(texts, r.text)
	}
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "node", "testdata/clients/tokens.mjs", modules)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	var counts []int
	if err == nil {
		err = json.Unmarshal(out, &counts)
	}
	if err != nil || len(counts) != len(rows) {
		t.Fatalf("count tokens: %v\n%s", err, stderr.String())
	}
	return counts
}
