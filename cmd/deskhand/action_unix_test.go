//go:build unix

package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/deskhand/deskhand/indexer/oci/registrytest"
)

// action runs the script of the GitHub Action in dir, and returns its outputs.
func action(t *testing.T, dir string, inputs map[string]string, args ...string) (outputs map[string]string, said string, err error) {
	t.Helper()
	script, e := filepath.Abs("../../deploy/action/run.sh")
	if e != nil {
		t.Fatal(e)
	}
	file := filepath.Join(t.TempDir(), "outputs")
	cmd := exec.Command("bash", append([]string{script}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GITHUB_OUTPUT="+file, "GITHUB_REPOSITORY=acme/handbook", "GITHUB_SERVER_URL=https://github.com", "RUNNER_OS=Linux")
	for name, value := range inputs {
		cmd.Env = append(cmd.Env, "INPUT_"+name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	outputs = map[string]string{}
	if b, e := os.ReadFile(file); e == nil {
		for line := range strings.Lines(string(b)) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			outputs[key] = value
		}
	}
	return outputs, string(out), err
}

// checkout is a git checkout with files.
func actionCheckout(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "docs"}} {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// The action adds, measures and pushes; the gate keeps what is bad from the
// registry; another repository syncs what was pushed.
func TestTheAction(t *testing.T) {
	host := registrytest.Start(t, true)
	registrytest.Login(t, host, registrytest.Password)
	dir := actionCheckout(t, map[string]string{
		"docs/retries.md": "# Retries\n\n## Backoff\n\nWait longer after each failure.\n",
		"docs/leave.md":   "# Leave\n\nAsk for leave two weeks before.\n",
		"cases.json":      `[{"query": "how long to wait after a failure", "expected": [{"filepath": "retries.md", "grade": 3}]}]`,
	})
	inputs := map[string]string{"SOURCE": "docs", "NAME": "handbook", "VERSION": "1.0", "CASES": "cases.json", "MIN_NDCG": "0.5", "PUSH": host + "/handbook:1.0 " + host + "/handbook:latest"}
	outputs, said, err := action(t, dir, inputs)
	if err != nil || !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(outputs["digest"]) || outputs["library"] != "handbook@1.0" || outputs["index"] == "" {
		t.Fatalf("%v, outputs %v\n%s", err, outputs, said)
	}
	again, said, err := action(t, dir, inputs)
	if err != nil || again["digest"] != outputs["digest"] {
		t.Errorf("a second run: %v, outputs %v\n%s", err, again, said)
	}

	inputs["MIN_NDCG"], inputs["PUSH"] = "1", host+"/handbook:bad"
	inputs["CASES"] = "bad.json"
	write(t, dir, map[string]string{"bad.json": `[{"query": "wait longer after each failure", "expected": [{"filepath": "leave.md", "grade": 3}]}]`})
	if outputs, said, err := action(t, dir, inputs); err == nil || outputs["digest"] != "" {
		t.Errorf("a gate that does not hold: %v, outputs %v\n%s", err, outputs, said)
	}

	other := actionCheckout(t, map[string]string{"deskhand.yaml": "libraries: [{name: handbook, source: 'oci://" + host + "/handbook:1.0'}]\n"})
	if _, said, err := action(t, other, nil); err == nil || !strings.Contains(said, "deskhand.lock") {
		t.Errorf("without a lock file: %v\n%s", err, said)
	}
	if _, said, err := action(t, other, map[string]string{"LOCKED": "false"}); err != nil {
		t.Errorf("a sync: %v\n%s", err, said)
	}
	if outputs, said, err := action(t, other, map[string]string{"LIBRARY": "handbook", "PUSH": host + "/mirror:1.0"}); err != nil || outputs["library"] != "handbook@1.0" {
		t.Errorf("a locked sync: %v, outputs %v\n%s", err, outputs, said)
	}
	if _, said, err := action(t, other, map[string]string{"LIBRARY": "handbook", "PUSH": host + "/denied@x"}); err == nil || !strings.Contains(said, "hint: ") {
		t.Errorf("a bad reference: %v\n%s", err, said)
	}
}

// Other systems read what the script prints, also from a file.
func TestTheActionPrintsToAFile(t *testing.T) {
	dir := actionCheckout(t, map[string]string{
		"docs/leave.md": "# Leave\n\nAsk for leave two weeks before.\n", "cases.json": `[{"query": "ask for leave", "expected": [{"filepath": "leave.md"}]}]`,
	})
	script, err := filepath.Abs("../../deploy/action/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("bash", script)
	cmd.Dir, cmd.Stdout = dir, out
	cmd.Env = append(os.Environ(), "GITHUB_OUTPUT=", "INPUT_SOURCE=docs", "INPUT_NAME=handbook", "INPUT_CASES=cases.json")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(out.Name())
	if want := "added handbook: 1 page, 1 chunk, from " + filepath.Join(dir, "docs") + "\nlibrary=handbook\nindex=.deskhand/shelf/handbook\n"; err != nil || !strings.HasPrefix(string(said), want) || !strings.Contains(string(said), "0 failed") {
		t.Errorf("the script printed %q, %v; want %q and the measurement", said, err, want)
	}
}

// The cache has a key of what would be made: the tree of a folder, or the digests
// of the lock file.
func TestTheKeyOfTheAction(t *testing.T) {
	keyOf := func(dir string, inputs map[string]string) (key, prefix string) {
		t.Helper()
		outputs, said, err := action(t, dir, inputs, "key")
		if err != nil || outputs["key"] == "" || !strings.HasPrefix(outputs["key"], outputs["prefix"]) {
			t.Fatalf("%v, outputs %v\n%s", err, outputs, said)
		}
		return outputs["key"], outputs["prefix"]
	}
	docs := map[string]string{"SOURCE": "docs", "NAME": "handbook"}
	first, prefix := keyOf(actionCheckout(t, map[string]string{"docs/a.md": "# A\n", "other.txt": "1"}), docs)
	same, _ := keyOf(actionCheckout(t, map[string]string{"docs/a.md": "# A\n", "other.txt": "2"}), docs)
	changed, changedPrefix := keyOf(actionCheckout(t, map[string]string{"docs/a.md": "# B\n", "other.txt": "1"}), docs)
	if first != same || first == changed || prefix != changedPrefix {
		t.Errorf("keys %s, %s and %s", first, same, changed)
	}
	locked, _ := keyOf(actionCheckout(t, map[string]string{"deskhand.lock": "{}\n"}), nil)
	if moved, _ := keyOf(actionCheckout(t, map[string]string{"deskhand.lock": "{ }\n"}), nil); moved == locked {
		t.Errorf("both lock files have the key %s", locked)
	}
	if _, said, err := action(t, t.TempDir(), nil, "key"); err == nil || !strings.Contains(said, "deskhand sync") {
		t.Errorf("no lock file: %v\n%s", err, said)
	}
}

// Each input of action.yml reaches the script and is in the guide.
func TestTheActionHandsItsInputsOn(t *testing.T) {
	b, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Inputs, Outputs map[string]any
		Runs            struct {
			Steps []struct {
				ID  string
				Env map[string]string
				Run string
			}
		}
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../deploy/action/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	guide := pageNamed(t, "corpus/guides/publish-docs-from-ci.md")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(guide.prose(), -1) {
		for _, name := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, name[1])
		}
	}
	sameNames(t, guide.path, listed, slices.Concat(slices.Collect(maps.Keys(file.Inputs)), slices.Collect(maps.Keys(file.Outputs))))
	env := map[string]string{}
	for _, s := range file.Runs.Steps {
		if s.ID == "run" {
			env = s.Env
		}
		if strings.Contains(s.Run, "inputs.") {
			t.Errorf("an input is written into the script of step %q, where its text would run", s.ID)
		}
	}
	for name := range file.Inputs {
		variable := "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if name == "working-directory" {
			continue // of the step
		}
		if !strings.Contains(env[variable], "inputs."+name) || !strings.Contains(string(script), variable) {
			t.Errorf("the input %s does not reach the script as %s", name, variable)
		}
	}
}
