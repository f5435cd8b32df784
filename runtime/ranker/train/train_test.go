package train

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// twoSets are two sets of three pages, with two questions each, the second with
// phrasings.
func twoSets(t *testing.T) []Set {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, set := range []string{"a", "b"} {
		write(set+"/backups.md", "# Backups\n\nThe server copies its data every night. A backup is encrypted.\n")
		write(set+"/network.md", "# Network\n\nThe server listens on one address, behind a proxy.\n")
		write(set+"/users.md", "# Users\n\nWho may sign in is listed in a file of the server.\n")
		write(set+".json", `[{"name":"one","category":"question","query":"when is data of the server copied","expected":[{"filepath":"backups.md","heading":"Backups","grade":3}]},
			{"name":"two","category":"paraphrase","query":"people who can log in","asked":{"reader":"people who can log in; sign in, users of the server"},"expected":[{"filepath":"users.md","heading":"Users","grade":3}]}]`)
	}
	write("sets.txt", "# name, folder, cases\na a a.json\n\nb b b.json\n")
	sets, err := ReadSets(filepath.Join(dir, "sets.txt"))
	if err != nil || len(sets) != 2 {
		t.Fatalf("%v, %v", sets, err)
	}
	return sets
}

func TestTrainingTwiceGivesTheSameBytes(t *testing.T) {
	questions, err := Gather(context.Background(), twoSets(t), t.TempDir(), nil)
	if err != nil || len(questions) != 18 {
		t.Fatalf("%d questions, %v; want 4, two of them also as a reader asks, and three shortened copies of each", len(questions), err)
	}
	var before []byte
	for range 2 {
		m, err := Train(context.Background(), questions, Options{Nets: 2, Epochs: 2})
		if err != nil {
			t.Fatal(err)
		}
		data, err := m.Encode()
		if err != nil || before != nil && !bytes.Equal(before, data) {
			t.Fatalf("the second training gave other bytes, %v", err)
		}
		before = data
		if got := fmt.Sprint(m.Trained().Sets); !strings.Contains(got, "{a 2 ") || !strings.Contains(got, "{b 2 ") {
			t.Errorf("it says it was trained on %s, want a and b with 2 questions", got)
		}
	}
	measured, err := Measure(context.Background(), questions, Options{Nets: 1, Epochs: 1}, nil)
	if err != nil || len(measured.Sets) != 4 {
		t.Fatalf("%+v, %v; want both sets, alone and as a reader asks", measured, err)
	}
	for _, g := range measured.Sets {
		if g.Without <= 0 || g.Without > 1 || g.With < 0 || g.With > 1 || g.Low > g.High {
			t.Errorf("%+v is no gain", g)
		}
	}
	var table strings.Builder
	if err := measured.Print(&table); err != nil || !strings.Contains(table.String(), "mean gain") {
		t.Errorf("%q, %v", table.String(), err)
	}
}

func TestHeldQuestionsAreMeasuredAndNotTrainedOn(t *testing.T) {
	sets := twoSets(t)
	train := func() ([]Question, []byte) {
		questions, err := Gather(context.Background(), sets, t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Train(context.Background(), questions, Options{Nets: 1, Epochs: 1})
		if err != nil {
			t.Fatal(err)
		}
		data, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return questions, data
	}
	_, without := train()
	held := filepath.Join(t.TempDir(), "held.json")
	if err := os.WriteFile(held, []byte(`[{"name":"three","category":"question","query":"is a proxy in front of it","expected":[{"filepath":"network.md","heading":"Network","grade":3}]}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	sets[1].Held = []string{held}
	questions, with := train()
	if !bytes.Equal(without, with) {
		t.Error("a held question changed the ranker")
	}
	m, err := Measure(context.Background(), questions, Options{Nets: 1, Epochs: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(m.Sets, func(g Gain) bool { return g.Held })
	if at < 0 || m.Sets[at].Name != "b" || m.Sets[at].Questions != 1 {
		t.Errorf("%+v, want the held question of b on its own", m.Sets)
	}
	var table strings.Builder
	if err := m.Print(&table); err != nil || !strings.Contains(table.String(), "b, held") {
		t.Errorf("%q, %v", table.String(), err)
	}
}

func TestTrainingSaysWhatCannotBe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sets.txt")
	for text, want := range map[string]string{"": "names no set", "a b\n": `"a b" is not a name`, "a b held:c\n": "a has no file of cases to train on"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSets(file); fault.Of(err) == nil || fault.Of(err).Code != "bad_sets" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want bad_sets with %q", text, err, want)
		}
	}
	if _, err := ReadSets(filepath.Join(dir, "none")); fault.Of(err) == nil || fault.Of(err).Code != "bad_sets" {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(file, []byte("a pages cases.json\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for out, want := range map[string]string{filepath.Join(dir, "none", "r.json"): "there is no folder", dir: "is a folder"} {
		if err := (Run{Sets: file, Out: out}).Do(context.Background(), io.Discard); fault.Of(err) == nil || fault.Of(err).Code != "bad_output" || !strings.Contains(err.Error(), want) {
			t.Errorf("-o %s: %v, want bad_output with %q", out, err, want)
		}
	}
	questions := []Question{{Set: "a"}}
	if _, err := Measure(context.Background(), questions, Options{}, nil); fault.Of(err) == nil || fault.Of(err).Code != "bad_sets" {
		t.Errorf("one set to measure: %v", err)
	}
	if _, err := Train(context.Background(), questions, Options{Nets: 99}); fault.Of(err) == nil || fault.Of(err).Code != "bad_options" {
		t.Errorf("99 nets: %v", err)
	}
}

func TestShortenedLeavesWordsOut(t *testing.T) {
	const query = "how long does the server keep old backups before it deletes them"
	one, two := shortened(query, "case", 1), shortened(query, "case", 2)
	if one == "" || one == two || one != shortened(query, "case", 1) || one == shortened(query, "other case", 1) {
		t.Errorf("copies %q and %q; want two different ones, the same each time, others for another case", one, two)
	}
	all := strings.Fields(query)
	for _, w := range strings.Fields(one) {
		at := slices.Index(all, w)
		if at < 0 {
			t.Fatalf("%q in %q is not a word of the rest of the question, or out of order", w, one)
		}
		all = all[at+1:]
	}
	for _, query := range []string{"three words only", `a question with "quoted text" in it`} {
		for n := range uint64(20) {
			if got := shortened(query, "case", n); got != "" {
				t.Errorf("shortened(%q) = %q, want none", query, got)
			}
		}
	}
}
