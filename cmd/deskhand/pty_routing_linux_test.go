package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// A person at the terminal's inbox takes a question, releases it, and hands it over: the
// same as deskhand ask take and hand do.
func TestTheTerminalInboxTakesAndHandsOver(t *testing.T) {
	peopleStore(t)
	for _, name := range []string{"ada", "bob"} {
		done(t, ".", "people", "add", name)
		done(t, ".", "token", "create", "--for", name, "--scope", "answer")
	}
	id := strings.TrimSpace(done(t, ".", "ask", "--detach", "--confirm", "Deploy?"))
	routing := func() *elicit.Request {
		var r elicit.Request
		if err := json.Unmarshal([]byte(done(t, ".", "ask", "show", id, "--json")), &r); err != nil {
			t.Fatal(err)
		}
		return &r
	}
	p := sits(t, nil, nil, "inbox")
	p.sees("Deploy?")
	p.types("1")
	p.sees("with everyone")
	p.types("t")
	p.sees("taken by local until")
	if r := routing(); r.Routing == nil || r.Routing.Taken == nil || r.Routing.Taken.By != elicit.Local {
		t.Errorf("after t, the routing is %+v", r.Routing)
	}
	p.forgets()
	p.types("t")
	p.sees("released")
	if r := routing(); r.Routing.Taken != nil {
		t.Errorf("after t again, the question is taken: %+v", r.Routing.Taken)
	}
	p.forgets()
	p.types("h")
	p.sees("One of: ada, bob, everyone")
	p.types("nobody\r")
	p.sees("type one of")
	p.types("\x15b\t\r") // Ctrl+U, then the name is completed
	p.sees("handed over to bob")
	if r := routing(); r.To() != "bob" || r.Audience.Principal != "bob" {
		t.Errorf("after handing over, it is with %s", r.To())
	}
	p.types("\x03")
	if got := p.ends(); got.code != 0 {
		t.Errorf("inbox: exit %d", got.code)
	}
}

// At an agent's permission request, a key makes the rule that the person then reads, and
// only Enter makes it.
func TestTheTerminalInboxMakesARule(t *testing.T) {
	repo, task := onTask(t)
	done(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", "permit launch it")
	p := sits(t, nil, []string{"DESKHAND_INBOX=off"}, "inbox")
	p.sees("Allow launch it?")
	p.types("1")
	p.sees("always allow")
	p.forgets()
	p.types("a")
	p.sees("in this project if it matches")
	p.sees("for 8 hours")
	p.types("\t")
	p.sees("a day")
	p.types("\x1b")
	p.sees("choose")
	if list := done(t, repo, "rules", "list", "--json"); strings.Contains(list, "launch") {
		t.Errorf("Esc made a rule: %s", list)
	}
	p.forgets()
	p.types("a")
	p.sees("in this project if it matches")
	p.types("\r")
	p.sees("answered in the terminal")
	if list := done(t, repo, "rules", "list", "--json"); !strings.Contains(list, `"pattern": "launch *"`) && !strings.Contains(list, `"pattern": "launch it"`) {
		t.Errorf("rules list = %s", list)
	}
	p.types("q")
	if got := p.ends(); got.code != 0 {
		t.Errorf("inbox: exit %d", got.code)
	}
}

// The same line by line, for a screen reader.
func TestTheInboxLineByLineTakesAndHandsOver(t *testing.T) {
	peopleStore(t)
	done(t, ".", "people", "add", "ada")
	done(t, ".", "token", "create", "--for", "ada", "--scope", "answer")
	done(t, ".", "ask", "--detach", "Name?")
	p := sits(t, nil, []string{"TERM=dumb"}, "inbox")
	p.sees("1. Name?")
	p.types("1\n")
	p.sees("It is with everyone.")
	p.types("/take\n")
	p.sees("taken by local until")
	p.types("/hand\n")
	p.sees("Type the name after the command: ada, everyone.")
	p.types("/hand ada\n")
	p.sees("It is now with ada since")
	p.types("/always\n")
	p.sees("/always is not possible here.")
	p.types("/later\n")
	p.types("q\n")
	if got := p.ends(); got.code != 0 {
		t.Errorf("inbox: exit %d, %s", got.code, got.stderr)
	}
}
