package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// askScript asks with the agent's own shell, in each way that ends otherwise.
const askScript = `mkdir tried; until [ -s tried/pid ]; do sleep 0.05; done
deskhand ask 'Which colour?' --id colour -o Azure=blue -o Red=red >> said 2>> err; echo "colour ended $?" >> said
deskhand ask --confirm 'Deploy?' >> said 2>> err; echo "deploy ended $?" >> said
deskhand ask 'Whose name?' >> said 2>> err; echo "name ended $?" >> said
deskhand ask 'How many?' --integer --output json 2>> err | grep -q '"12"'; echo "number ended $?" >> said
id=$(deskhand ask --detach 'And later?' 2>> err); deskhand ask wait "$id" >> said 2>> err; echo "later ended $?" >> said
deskhand ask list --all --json | grep -c '"id": "elc_' >> said; deskhand ask show "$id" | grep -c 'And later?' >> said
deskhand ask 'Too late?' --timeout 1s >> said 2>> err; echo "timeout ended $?" >> said
deskhand ask --confirm 2>> err; echo "misuse ended $?" >> said
DESKHAND_URL=http://127.0.0.1:1/mcp deskhand ask 'Anybody?' 2> gone; echo "gone ended $?" >> said
bash -mc 'deskhand ask "Left alone?" > /dev/null 2> left & until grep -q "asked as" left; do sleep 0.05; done; kill -INT %1; wait %1; echo "left ended $?" >> said'
echo all >> said; echo said all
`

// The agent's own shell in a sandbox, which hides the store, asks a person with
// deskhand ask: the output and the exit codes are those outside, and the question
// is the attempt's.
func TestAttackBoxDeskhandAsk(t *testing.T) {
	for _, mode := range []box.Mode{box.Bwrap, box.Landlock} {
		for _, network := range []string{box.NetworkOn, box.NetworkOff} {
			t.Run(string(mode)+" network "+network, func(t *testing.T) {
				needsBox(t, mode)
				w := newBoxWorld(t, realDir(t), nil)
				t.Setenv("DESKHAND_TASKS_SANDBOX", string(mode))
				t.Setenv("DESKHAND_TASKS_SANDBOX_NETWORK", network)
				t.Setenv("DESKHAND_TASKS_EXECUTORS", `{"scripted": {"kind": "shell", "command": ["sh", "-c", "{{prompt}}"]}}`)
				dir := w.begin(t, "scripted", askScript)
				w.says(t, "Which colour?", "answer", "blue")
				w.says(t, "Deploy?", "answer", "no")
				w.says(t, "Whose name?", "decline")
				w.says(t, "How many?", "answer", "12")
				w.says(t, "And later?", "answer", "then")
				eventually(t, "the end", func() error { return holds(done(t, w.repo, "tasks", "show", w.task), "completed") })
				said, err := os.ReadFile(filepath.Join(dir, "said"))
				if err != nil {
					t.Fatal(err)
				}
				const want = "blue\ncolour ended 0\nno\ndeploy ended 1\nname ended 3\nnumber ended 0\nthen\nlater ended 0\n5\n1\ntimeout ended 124\nmisuse ended 2\ngone ended 7\nleft ended 130\nall\n"
				if string(said) != want {
					stderr, _ := os.ReadFile(filepath.Join(dir, "err"))
					t.Errorf("the script said\n%s\nwant\n%s\nand on stderr\n%s", said, want, stderr)
				}
				for file, words := range map[string]string{"gone": "ask_user", "left": "the question stays open; wait for the answer: deskhand ask wait elc_"} {
					if text, _ := os.ReadFile(filepath.Join(dir, file)); !strings.Contains(string(text), words) {
						t.Errorf("%s has %q, want %q", file, text, words)
					}
				}
			})
		}
	}
}

// says answers the question of the agent, once it is asked in the attempt.
func (w *boxWorld) says(t *testing.T, question, how string, more ...string) {
	t.Helper()
	var id string
	w.eventually(t, question, func() error {
		var asked []struct {
			ID, Message string
			Context     struct{ AttemptID, TaskID string }
		}
		if err := json.Unmarshal([]byte(done(t, w.repo, "ask", "list", "--json")), &asked); err != nil {
			return err
		}
		for _, one := range asked {
			if one.Message == question && one.Context.AttemptID != "" && one.Context.TaskID == w.task {
				id = one.ID
				return holds(done(t, w.repo, "tasks", "ls"), "asks")
			}
		}
		return fmt.Errorf("asked is %+v", asked)
	})
	done(t, w.repo, append([]string{"ask", how, id}, more...)...)
}
