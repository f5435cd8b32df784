package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/goldentest"
)

// world is a home folder with a project and no client on PATH.
func world(t testing.TB) (Env, Records) {
	t.Helper()
	root := t.TempDir()
	e := Env{Project: filepath.Join(root, "shop"), Home: filepath.Join(root, "home"), OS: "linux",
		Getenv: func(string) string { return "" },
		Look:   func(string) (string, error) { return "", errors.New("not on PATH") }}
	e.Config = filepath.Join(e.Home, ".config")
	for _, dir := range []string{e.Project, e.Config} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return e, In(filepath.Join(root, "state"))
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// tree is every file and folder below dir, with its text.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := "folder"
		if d.Type()&fs.ModeSymlink != 0 {
			if text, err = os.Readlink(path); err != nil {
				return err
			}
		} else if !d.IsDir() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(b)
		}
		all[strings.TrimPrefix(path, dir)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func everything(user bool) Options {
	return Options{Clients: IDs(), User: user, Description: "Shop manual", Command: "deskhand", AbsoluteCommand: "/opt/deskhand"}
}

func apply(t testing.TB, p *Plan, err error) *Plan {
	t.Helper()
	if err == nil {
		err = p.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// samples are files as the clients' own documentation has them, with the
// comments that people write where the format has any.
var samples = map[string]string{
	".mcp.json":             "{\n  \"mcpServers\": {\n    \"shared-server\": {\n      \"command\": \"/path/to/server\",\n      \"args\": [],\n      \"env\": {}\n    }\n  }\n}\n",
	".codex/config.toml":    "model = \"gpt-5-codex\" # the one we agreed on\n\n[mcp_servers.context7]\ncommand = \"npx\"\nargs = [\"-y\", \"@upstash/context7-mcp\"]\n\n[mcp_servers.context7.env]\nMY_ENV_VAR = \"MY_ENV_VALUE\"\n",
	".gemini/settings.json": "{\n  // settings of the team\n  \"theme\": \"GitHub\",\n  \"mcpServers\": {\n    \"pythonTools\": {\"command\": \"python\", \"args\": [\"-m\", \"my_mcp_server\"], \"trust\": false}\n  }\n}\n",
	".cursor/mcp.json":      "{\n  \"mcpServers\": {\n    \"server-name\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"mcp-server\"]\n    }\n  }\n}\n",
	".vscode/mcp.json":      "{\n\t\"inputs\": [],\n\t\"servers\": {\n\t\t\"memory\": {\n\t\t\t\"command\": \"npx\",\n\t\t\t\"args\": [\"-y\", \"@modelcontextprotocol/server-memory\"], // local\n\t\t},\n\t},\n}\n",
	".zed/settings.json":    "// Folder-specific settings\n{\n  \"tab_size\": 2,\n  \"context_servers\": {\n    \"your-mcp-server\": {\n      \"source\": \"custom\",\n      \"command\": \"some-command\",\n      \"args\": [\"arg-1\"],\n      \"env\": {},\n    },\n  },\n}\n",
	"opencode.jsonc":        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  // of ours\n  \"mcp\": {\n    \"mcp_everything\": {\n      \"type\": \"local\",\n      \"command\": [\"npx\", \"-y\", \"@modelcontextprotocol/server-everything\"],\n    },\n  },\n}\n",
	".junie/mcp/mcp.json":   "{\n    \"mcpServers\": {\n        \"one\": {\n            \"command\": \"npx\"\n        }\n    }\n}\n",

	"~/.claude.json":                                 "{\n  \"numStartups\": 3,\n  \"mcpServers\": {},\n  \"projects\": {}\n}",
	"~/.codex/config.toml":                           "model = \"gpt-5-codex\"\n[projects.\"/src/shop\"]\ntrust_level = \"trusted\"\n",
	"~/.gemini/settings.json":                        "{}",
	"~/.cursor/mcp.json":                             "{\"mcpServers\": {}}\n",
	"~/.config/Code/User/mcp.json":                   "{\n\t\"servers\": {}\n}\n",
	"~/.codeium/windsurf/mcp_config.json":            "{\n  \"mcpServers\": {\n    \"github-mcp\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"@modelcontextprotocol/server-github\"]\n    }\n  }\n}\n",
	"~/.config/zed/settings.json":                    "// Zed settings\n{\n  \"theme\": \"One Dark\" // dark\n}\n",
	"~/.config/opencode/opencode.json":               "{\n  \"autoupdate\": false\n}\n",
	"~/.copilot/mcp-config.json":                     "{\n  \"mcpServers\": {\n    \"playwright\": {\n      \"type\": \"local\",\n      \"command\": \"npx\",\n      \"args\": [\"@playwright/mcp@latest\"],\n      \"tools\": [\"*\"]\n    }\n  }\n}\n",
	"~/.config/goose/config.yaml":                    "GOOSE_PROVIDER: anthropic  # ours\nextensions:\n  # built in\n  developer:\n    bundled: true\n    enabled: true\n    name: developer\n    type: builtin\nGOOSE_MODE: auto\n",
	"~/.cline/data/settings/cline_mcp_settings.json": "{\n  \"mcpServers\": {}\n}\n",
	"~/.config/Claude/claude_desktop_config.json":    "{\n  \"mcpServers\": {\n    \"filesystem\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"@modelcontextprotocol/server-filesystem\", \"/Users/username/Desktop\"]\n    }\n  }\n}\n",
	"~/.junie/mcp/mcp.json":                          "{\n  \"mcpServers\": {}\n}\n",
}

func placeSamples(t testing.TB, e Env) {
	t.Helper()
	for name, text := range samples {
		dir := e.Project
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			dir, name = e.Home, rest
		}
		put(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
}

// What is written into the files of each client: where there was none, and into
// those of its documentation.
func TestGoldenFilesOfClients(t *testing.T) {
	var got strings.Builder
	for _, samples := range []bool{false, true} {
		for _, user := range []bool{false, true} {
			e, r := world(t)
			put(t, filepath.Join(e.Project, "docs", "index.md"), "# Shop\n")
			if samples {
				placeSamples(t, e)
			}
			before := tree(t, filepath.Dir(e.Project))
			p, err := New(e, r, everything(user))
			apply(t, p, err)
			after := tree(t, filepath.Dir(e.Project))
			fmt.Fprintf(&got, "==== for the user: %v, with files of theirs: %v\n", user, samples)
			for _, c := range p.Clients {
				fmt.Fprintf(&got, "%s: %s %s\n", c.ID, c.Status, c.Path)
			}
			for _, name := range slices.Sorted(maps.Keys(after)) {
				if before[name] == after[name] || after[name] == "folder" || strings.HasPrefix(name, "/state/") {
					continue
				}
				fmt.Fprintf(&got, "---- %s\n%s", name, strings.ReplaceAll(after[name], filepath.Dir(e.Project), "/ROOT"))
				if !strings.HasSuffix(after[name], "\n") {
					got.WriteString("(no line end)\n")
				}
			}
		}
	}
	goldentest.Compare(t, "testdata/clients.golden", got.String())
}

// Set up twice is set up once, and what is taken out leaves every byte as it was.
func TestSetUpAndTakenOut(t *testing.T) {
	for _, user := range []bool{false, true} {
		for _, samples := range []bool{false, true} {
			t.Run(fmt.Sprintf("user=%v,samples=%v", user, samples), func(t *testing.T) {
				e, r := world(t)
				put(t, filepath.Join(e.Project, "docs", "index.md"), "# Shop\n")
				put(t, filepath.Join(e.Project, ".gitignore"), "/bin") // without a line end
				if samples {
					placeSamples(t, e)
				}
				before, home := tree(t, e.Project), tree(t, e.Home)
				p, err := New(e, r, everything(user))
				apply(t, p, err)
				if len(p.Changes) < 6 {
					t.Errorf("%d files changed, want one a client at least", len(p.Changes))
				}
				p, err = New(e, r, everything(user))
				if apply(t, p, err); len(p.Changes) > 0 {
					t.Errorf("the second time changes %s:\n%s", p.Changes[0].Shown, p.Changes[0].Diff())
				}
				p, err = Removal(e, r, Options{})
				apply(t, p, err)
				if now := tree(t, e.Project); !maps.Equal(now, before) {
					t.Errorf("the project has %q, want %q", now, before)
				}
				if now := tree(t, e.Home); !maps.Equal(now, home) {
					t.Errorf("the home has %q, want %q", now, home)
				}
				if left, _ := filepath.Glob(filepath.Join(r.dir, "[^.]*")); len(left) > 0 {
					t.Errorf("records stay: %q", left)
				}
			})
		}
	}
}

// What a person has written since stays.
func TestTakenOutOfFilesThatWereChangedSince(t *testing.T) {
	e, r := world(t)
	put(t, filepath.Join(e.Project, "docs", "index.md"), "# Shop\n")
	p, err := New(e, r, everything(false))
	apply(t, p, err)
	for name, edit := range map[string][2]string{
		".mcp.json":          {`"mcpServers": {`, `"mcpServers": {"mine": {"command": "x"},`},
		".vscode/mcp.json":   {`"servers"`, `"inputs": [], "servers"`},
		".codex/config.toml": {"[mcp_servers.deskhand]", "# mine\nmodel = \"x\"\n[mcp_servers.deskhand]"},
		"deskhand.yaml":      {"index:", "tools: docs\nindex:"},
		".gitignore":         {".deskhand/", "/mine/\n.deskhand/"},
	} {
		path := filepath.Join(e.Project, filepath.FromSlash(name))
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), edit[0]) {
			t.Fatalf("%s is %q, %v; want %q in it", name, text, err, edit[0])
		}
		put(t, path, strings.Replace(string(text), edit[0], edit[1], 1))
	}
	p, err = Removal(e, r, Options{})
	apply(t, p, err)
	now := tree(t, e.Project)
	for name, want := range map[string]string{
		"/.mcp.json": `{"mcpServers":{"mine":{"command":"x"}}}`, "/.vscode/mcp.json": `{"inputs":[]}`,
		"/.codex/config.toml": `#minemodel="x"`, "/.gitignore": "/mine/",
	} {
		if norm(now[name]) != want {
			t.Errorf("%s is %q, want %s", name, now[name], want)
		}
	}
	if !strings.Contains(now["/deskhand.yaml"], "tools: docs") {
		t.Errorf("deskhand.yaml lost what a person wrote: %q", now["/deskhand.yaml"])
	}
	if _, there := now["/.cursor"]; there {
		t.Error(".cursor stays, which init has made")
	}
}

// The last line of a person, which had no line end, stays a line of its own.
func TestALineThatWasWrittenSinceIsNotJoinedToTheOneBefore(t *testing.T) {
	e, r := world(t)
	path := filepath.Join(e.Project, ".gitignore")
	put(t, path, "/bin")
	p, err := New(e, r, everything(false))
	apply(t, p, err)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, string(text)+"/mine\n")
	p, err = Removal(e, r, Options{})
	apply(t, p, err)
	if got := tree(t, e.Project)["/.gitignore"]; got != "/bin\n/mine\n" {
		t.Errorf(".gitignore is %q", got)
	}
}

// A clone has the files and no record of them.
func TestTakenOutOfAClone(t *testing.T) {
	e, r := world(t)
	put(t, filepath.Join(e.Project, "docs", "index.md"), "# Shop\n")
	p, err := New(e, r, Options{Clients: []string{"claude"}, Command: "deskhand"})
	apply(t, p, err)
	p, err = Removal(e, In(t.TempDir()), Options{})
	apply(t, p, err)
	if now := tree(t, e.Project); strings.Contains(now["/.mcp.json"], "deskhand") || now["/deskhand.yaml"] == "" {
		t.Errorf("the clone has %q, want its entry gone and the files of the project there", now)
	}
}

func TestAnEntryOfSomebodyElseStays(t *testing.T) {
	e, r := world(t)
	own := `{"mcpServers": {"deskhand": {"command": "deskhand", "args": ["serve", "--tools", "docs"]}}}`
	put(t, filepath.Join(e.Project, ".mcp.json"), own)
	p, err := New(e, r, Options{Clients: []string{"claude"}, Command: "deskhand"})
	apply(t, p, err)
	if p.Clients[0].Status != Foreign || tree(t, e.Project)["/.mcp.json"] != own {
		t.Errorf("it became %+v, %q", p.Clients, tree(t, e.Project)["/.mcp.json"])
	}
}

// What a person has put into a file that init made stays, even if init has written into
// the file again since.
func TestAFileThatInitMadeStaysIfAPersonHasWrittenIntoIt(t *testing.T) {
	e, r := world(t)
	path := filepath.Join(e.Project, ".mcp.json")
	p, err := New(e, r, Options{Clients: []string{"claude"}, Command: "deskhand"})
	apply(t, p, err)
	text := tree(t, e.Project)["/.mcp.json"]
	put(t, path, strings.Replace(text, `"mcpServers": {`, `"mcpServers": {"mine": {"command": "x"},`, 1))
	put(t, filepath.Join(e.Project, "deskhand.yaml"), "tools: docs\n") // and the line of init is gone
	put(t, filepath.Join(e.Project, "docs", "a.md"), "# A\n")          // so the entry changes
	p, err = New(e, r, Options{Clients: []string{"claude"}, Command: "deskhand"})
	apply(t, p, err)
	p, err = Removal(e, r, Options{})
	apply(t, p, err)
	now := tree(t, e.Project)
	if got := norm(now["/.mcp.json"]); got != `{"mcpServers":{"mine":{"command":"x"}}}` {
		t.Errorf(".mcp.json is %q, want the server of the person", got)
	}
	if got := now["/deskhand.yaml"]; got != "tools: docs\n" {
		t.Errorf("deskhand.yaml is %q, want the line of the person", got)
	}
}

// A file that cannot be edited does not keep the others from being cleaned.
func TestTakenOutOfACloneBesideAFileThatCannotBeEdited(t *testing.T) {
	e, r := world(t)
	put(t, filepath.Join(e.Project, ".codex", "config.toml"), "[mcp_servers]\ndeskhand = { command = \"deskhand\", args = [\"serve\", \"--tools\", \"ask,work\"] }\n")
	put(t, filepath.Join(e.Project, ".mcp.json"), `{"mcpServers": {"deskhand": {"type": "stdio", "command": "deskhand", "args": ["serve", "--tools", "ask,work"]}}}`)
	p, err := Removal(e, r, Options{})
	apply(t, p, err)
	now := tree(t, e.Project)
	if strings.Contains(now["/.mcp.json"], "deskhand") || !strings.Contains(now["/.codex/config.toml"], "deskhand") {
		t.Errorf("the clone has %q", now)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], ".codex/config.toml stays unchanged") {
		t.Errorf("notes %q", p.Notes)
	}
}

// Two processes that write at the same moment do so one after the other: each of them
// succeeds, or says that a file was changed meanwhile.
func TestProcessesWriteOneAfterTheOther(t *testing.T) {
	e, r := world(t)
	put(t, filepath.Join(e.Project, "docs", "index.md"), "# Shop\n")
	placeSamples(t, e)
	for range 20 {
		errs := make(chan error)
		for range 4 {
			go func() {
				p, err := New(e, r, everything(false))
				if err == nil {
					err = p.Apply()
				}
				errs <- err
			}()
		}
		wrote := 0
		for range 4 {
			err := <-errs
			if f := fault.Of(err); err == nil {
				wrote++
			} else if f == nil || f.Code != "changed_meanwhile" {
				t.Fatalf("error %v", err)
			}
		}
		if wrote == 0 {
			t.Fatal("none of four processes has written")
		}
		p, err := New(e, r, everything(false))
		if apply(t, p, err); len(p.Changes) > 0 {
			t.Fatalf("%s is not complete:\n%s", p.Changes[0].Shown, p.Changes[0].Diff())
		}
		p, err = Removal(e, r, Options{})
		apply(t, p, err)
		for name, text := range tree(t, e.Project) {
			if want, ok := samples[strings.TrimPrefix(name, "/")]; ok && text != want {
				t.Fatalf("%s is %q in the end, want %q", name, text, want)
			}
		}
	}
}

// The docs move: our own entry follows, and comes out as it went in.
func TestOurEntryIsUpdated(t *testing.T) {
	e, r := world(t)
	put(t, filepath.Join(e.Project, ".mcp.json"), "{}\n")
	p, err := New(e, r, Options{Clients: []string{"claude"}, Command: "deskhand"})
	apply(t, p, err)
	put(t, filepath.Join(e.Project, "docs", "a.md"), "# A\n")
	p, err = New(e, r, Options{Clients: []string{"claude"}, Command: "deskhand"})
	apply(t, p, err)
	if text := tree(t, e.Project)["/.mcp.json"]; p.Clients[0].Status != Updated || !strings.Contains(text, `["serve", "--watch", "docs"]`) {
		t.Errorf("%+v, %s", p.Clients, text)
	}
	p, err = Removal(e, r, Options{})
	apply(t, p, err)
	if text := tree(t, e.Project)["/.mcp.json"]; text != "{}\n" {
		t.Errorf("taken out it is %q", text)
	}
}

// Nothing is written if any file cannot be.
func TestNothingIsWrittenIfAnyFileCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, e Env)
		want string
	}{
		"broken JSON": {func(t *testing.T, e Env) {
			put(t, filepath.Join(e.Project, ".cursor/mcp.json"), "{\n  \"a\": 1\n  \"b\": 2\n}\n")
		}, ".cursor/mcp.json:3: "},
		"broken TOML":         {func(t *testing.T, e Env) { put(t, filepath.Join(e.Project, ".codex/config.toml"), "a = 1\nb = = 2\n") }, ".codex/config.toml:2: "},
		"broken YAML":         {func(t *testing.T, e Env) { put(t, filepath.Join(e.Project, "deskhand.yaml"), "a: 1\n b: 2\n") }, "deskhand.yaml:2: "},
		"a folder":            {func(t *testing.T, e Env) { put(t, filepath.Join(e.Project, ".mcp.json", "x"), "") }, "it is a folder, not a file"},
		"a file for a folder": {func(t *testing.T, e Env) { put(t, filepath.Join(e.Project, ".vscode"), "") }, ".vscode"},
		"read-only": {func(t *testing.T, e Env) {
			path := filepath.Join(e.Project, ".mcp.json")
			put(t, path, "{}")
			if err := os.Chmod(path, 0o444); err != nil {
				t.Fatal(err)
			}
		}, "it is read-only"},
		"a link out": {func(t *testing.T, e Env) {
			put(t, filepath.Join(e.Home, ".bashrc"), "{}")
			if err := os.Symlink(filepath.Join(e.Home, ".bashrc"), filepath.Join(e.Project, ".mcp.json")); err != nil {
				t.Fatal(err)
			}
		}, "points outside the project"},
		"a folder that leads out": {func(t *testing.T, e Env) {
			if err := os.Symlink(e.Home, filepath.Join(e.Project, ".cursor")); err != nil {
				t.Fatal(err)
			}
		}, "points outside the project"},
		"a link to nothing": {func(t *testing.T, e Env) {
			if err := os.Symlink(filepath.Join(e.Home, "nothing"), filepath.Join(e.Project, ".mcp.json")); err != nil {
				t.Fatal(err)
			}
		}, "a broken link"},
	} {
		t.Run(name, func(t *testing.T) {
			e, r := world(t)
			c.make(t, e)
			before := tree(t, e.Project)
			p, err := New(e, r, everything(false))
			if err == nil {
				err = p.Apply()
			}
			f := fault.Of(err)
			if f == nil || !strings.Contains(f.Message, c.want) || f.Hint == "" {
				t.Errorf("error %v, want %q with a hint", err, c.want)
			}
			if now := tree(t, e.Project); !maps.Equal(now, before) {
				t.Errorf("the project became %q", now)
			}
		})
	}
}

// A clone can contain links to devices that never end, and files that only serve to use
// up a stack.
func TestHostileFilesOfAProjectAreNotRead(t *testing.T) {
	e, r := world(t)
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("this system has no /dev/zero")
	}
	put(t, filepath.Join(e.Project, "docs", "index.md"), "# Shop\n")
	for _, name := range []string{".claude/settings.local.json", "docs/metadata.json"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(e.Project, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		link(t, "/dev/zero", filepath.Join(e.Project, name))
	}
	p, err := New(e, r, Options{Clients: []string{"claude"}, Command: "deskhand"})
	if err != nil || p.Clients[0].Once == "" {
		t.Errorf("%+v, %v; want Claude Code to be connected, and not approved", p, err)
	}
	for _, deep := range []string{strings.Repeat("[", 20_000_000), `{"mcpServers": ` + strings.Repeat(`{"a":`, 4_000_000)} {
		put(t, filepath.Join(e.Project, ".mcp.json"), deep)
		_, err := New(e, r, Options{Clients: []string{"claude"}, Command: "deskhand"})
		if f := fault.Of(err); f == nil || !strings.Contains(f.Message, "nested too deeply") {
			t.Errorf("a file of %d bytes that is nested: %v", len(deep), err)
		}
	}
}

func TestNothingIsWrittenWithoutBackups(t *testing.T) {
	e, _ := world(t)
	file := filepath.Join(e.Home, "file")
	put(t, file, "")
	p, err := New(e, In(file), Options{Clients: []string{"claude"}, Command: "deskhand"})
	if err == nil {
		err = p.Apply()
	}
	if f := fault.Of(err); f == nil || f.Code != "state_unusable" || f.Hint == "" || len(tree(t, e.Project)) != 1 {
		t.Errorf("error %v; the project has %q", err, tree(t, e.Project))
	}
}

// A person's own file may be a link, as of those who keep them in git.
func TestALinkInTheHomeIsFollowed(t *testing.T) {
	e, r := world(t)
	kept := filepath.Join(e.Home, "dotfiles", "codex.toml")
	put(t, kept, "# mine\n")
	if err := os.MkdirAll(filepath.Join(e.Home, ".codex"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(e.Home, ".codex", "config.toml")
	if err := os.Symlink(kept, link); err != nil {
		t.Fatal(err)
	}
	p, err := New(e, r, Options{Clients: []string{"codex"}, User: true, AbsoluteCommand: "/opt/deskhand"})
	apply(t, p, err)
	info, err := os.Lstat(link)
	text, _ := os.ReadFile(kept)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 || !strings.Contains(string(text), "/opt/deskhand") {
		t.Errorf("the link is %v, %v, and leads to %q", info, err, text)
	}
}

func TestDocsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  Docs
	}{
		"none":         {map[string]string{"main.go": "", "node_modules/a/README.md": "# A"}, Docs{}},
		"docs":         {map[string]string{"docs/index.md": "---\ntitle: \"The Shop\"\n---\n", "README.md": "# Other"}, Docs{Dir: "docs", Files: 1, Title: "The Shop"}},
		"doc, README":  {map[string]string{"doc/a.md": "text", "README.md": "# [Shop](https://x.org) `v2`\n"}, Docs{Dir: "doc", Files: 1, Title: "Shop v2"}},
		"any title":    {map[string]string{"docs/index.md": "# Overview\n", "README.md": "# Shop\n"}, Docs{Dir: "docs", Files: 1, Title: "Shop"}},
		"only any":     {map[string]string{"docs/index.md": "# Welcome\n"}, Docs{Dir: "docs", Files: 1}},
		"README only":  {map[string]string{"README.md": "![badge](x)\n<h1 align=\"center\">Shop</h1>", "main.go": ""}, Docs{Dir: ".", Files: 1, Title: "Shop"}},
		"setext":       {map[string]string{"content/_index.md": "Shop\n====\n"}, Docs{Dir: "content", Files: 1, Title: "Shop"}},
		"empty docs":   {map[string]string{"docs/a.txt": "", "README.md": "```\n# no\n```\n# Yes\n"}, Docs{Dir: ".", Files: 1, Title: "Yes"}},
		"metadata":     {map[string]string{"metadata.json": `{"corpus": "book", "corpus_description": "the book"}`, "book/a.md": "# A", "docs/b.md": "# B"}, Docs{Dir: "book", Files: 1, Described: true}},
		"metadata out": {map[string]string{"metadata.json": `{"corpus": "../home"}`, "docs/b.md": "# B"}, Docs{Dir: "docs", Files: 1}},
	} {
		e, _ := world(t)
		for file, text := range c.files {
			put(t, filepath.Join(e.Project, filepath.FromSlash(file)), text)
		}
		if got := FindDocs(e.Project); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestClientsAreFound(t *testing.T) {
	e, _ := world(t)
	if found := e.Found(); len(found) > 0 {
		t.Errorf("found %v on an empty machine", found)
	}
	e.Look = func(program string) (string, error) {
		if program == "codex" {
			return "/usr/bin/codex", nil
		}
		return "", errors.New("no")
	}
	put(t, filepath.Join(e.Config, "zed", "settings.json"), "{}")
	put(t, filepath.Join(e.Project, ".cursor", "rules"), "")
	var ids []string
	for _, c := range e.Found() {
		ids = append(ids, c.ID)
	}
	if want := []string{"codex", "cursor", "zed"}; !slices.Equal(ids, want) {
		t.Errorf("found %v, want %v", ids, want)
	}
	if _, err := Named([]string{"emacs"}); fault.Of(err) == nil || !strings.Contains(fault.Of(err).Hint, "claude, codex") {
		t.Errorf("an unknown client is %v", err)
	}
	if list, err := Named([]string{"Junie", "claude-code", "Gemini CLI"}); err != nil || len(list) != 3 || list[0].ID != "claude" {
		t.Errorf("%v, %v", list, err)
	}
}
