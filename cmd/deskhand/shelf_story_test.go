package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/indexer/oci/registrytest"
)

// machine is a person's machine: a home folder, and what programs find in their
// environment.
type machine struct {
	t    *testing.T
	home string
	env  []string
}

func newMachine(t *testing.T, more ...string) machine {
	t.Helper()
	home := t.TempDir()
	m := machine{t: t, home: home, env: append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GORACE=" + quickRace}, more...)}
	for _, dir := range []string{"DATA", "STATE", "CONFIG", "CACHE"} {
		m.env = append(m.env, "XDG_"+dir+"_HOME="+filepath.Join(home, strings.ToLower(dir)))
	}
	return m
}

// run runs deskhand in dir and returns what it prints.
func (m machine) run(dir string, args ...string) string {
	m.t.Helper()
	cmd := m.command(dir, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("deskhand %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

func (m machine) command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("deskhand", args...)
	cmd.Dir, cmd.Env = dir, m.env
	return cmd
}

// ask starts a server in dir, and asks it each question with an MCP client: what
// search_docs answers, and the text of its first hit by get_doc.
func (m machine) ask(dir string, questions []string) (answers []string) {
	m.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "editor", Version: "1"}, nil)
	session, err := client.Connect(m.t.Context(), &mcp.CommandTransport{Command: m.command(dir, "serve", "--tools", "docs")}, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	defer session.Close()
	call := func(tool string, arguments map[string]any) *mcp.CallToolResult {
		m.t.Helper()
		r, err := session.CallTool(m.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil || r.IsError {
			m.t.Fatalf("%s: %v, %+v", tool, err, r)
		}
		return r
	}
	for _, q := range questions {
		found := call("search_docs", map[string]any{"query": q})
		var hits struct {
			Hits []struct {
				ID string `json:"chunk_id"`
			}
		}
		remarshal(m.t, found.StructuredContent, &hits)
		if len(hits.Hits) == 0 {
			m.t.Fatalf("nothing is found for %q", q)
		}
		b, err := json.Marshal([]any{found.Content, found.StructuredContent})
		if err != nil {
			m.t.Fatal(err)
		}
		text := call("get_doc", map[string]any{"chunk_id": hits.Hits[0].ID}).Content[0].(*mcp.TextContent).Text
		answers = append(answers, string(b)+"\n"+text)
	}
	return answers
}

func remarshal(t *testing.T, from, to any) {
	t.Helper()
	b, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// onShelf is a library as deskhand list --json has it.
type onShelf struct {
	Name, Version string
	Index         string `json:"index_sha256"`
}

// libraries are those on the shelf.
func (m machine) libraries(dir string) (list []onShelf) {
	m.t.Helper()
	if err := json.Unmarshal([]byte(m.run(dir, "list", "--json")), &list); err != nil {
		m.t.Fatal(err)
	}
	return list
}

// publish pushes the libraries, and returns the deskhand.yaml that lists them.
func (m machine) publish(dir, host string, list []onShelf) string {
	m.t.Helper()
	var b strings.Builder
	b.WriteString("libraries:\n")
	for _, l := range list {
		ref := host + "/shelf/" + strings.ReplaceAll(l.Name, ".", "-") + ":" + l.Version
		m.run(dir, "push", l.Name+"@"+l.Version, ref)
		b.WriteString("  - {name: " + l.Name + ", version: '" + l.Version + "', source: 'oci://" + ref + "'}\n")
	}
	return b.String()
}

// storyCache is a module cache with two versions of a module, of which the
// project uses the older one.
var storyCache = map[string]string{
	"example.com/frame@v1.2.0/README.md": "# frame\n\nReads frames from a connection.\n\n## Limits\n\nA frame has at most 64 kilobytes in this release.\n",
	"example.com/frame@v1.2.0/frame.go": `// Package frame reads frames from connections.
package frame

import "time"

// Reader reads frames.
type Reader struct{}

// NextBefore reads one frame and gives up at the deadline.
func (r *Reader) NextBefore(deadline time.Time) ([]byte, error) { return nil, nil }
`,
	"example.com/frame@v1.3.0/README.md": "# frame\n\nReads frames from a connection.\n\n## Limits\n\nA frame has at most 16 megabytes in this release.\n",
	"example.com/frame@v1.3.0/frame.go": `// Package frame reads frames from connections.
package frame

import "context"

// Reader reads frames.
type Reader struct{}

// NextContext reads one frame and gives up when ctx ends.
func (r *Reader) NextContext(ctx context.Context) ([]byte, error) { return nil, nil }
`,
}

var storyProject = map[string]string{
	"go.mod": "module example.com/app\n\ngo 1.24\n\nrequire example.com/frame v1.2.0\n",
	"package.json": `{"name": "app", "dependencies": {"backoff-kit": "^3.1.0"}}
`,
	"package-lock.json": `{"name": "app", "lockfileVersion": 3, "packages": {
  "": {"name": "app", "dependencies": {"backoff-kit": "^3.1.0"}},
  "node_modules/backoff-kit": {"version": "3.1.0"}}}
`,
	"node_modules/backoff-kit/package.json": `{"name": "backoff-kit", "version": "3.1.0", "license": "MIT", "types": "index.d.ts"}
`,
	"node_modules/backoff-kit/README.md":  "# backoff-kit\n\nRetries with pauses.\n\n## Jitter\n\nSince 3.1 the jitter of a pause is 40 percent by default.\n",
	"node_modules/backoff-kit/index.d.ts": "/** Retries a function, with pauses that double. */\nexport declare function retryDoubling(times: number): Promise<void>;\n",
}

// The story of the shelf: a fresh folder with a go.mod and a package.json; its
// dependencies become libraries; an agent asks what only those versions answer;
// the libraries go to a registry; and another machine, with none of the sources,
// syncs what is locked and answers the same, byte for byte.
func TestTheStoryOfTheShelf(t *testing.T) {
	host := registrytest.Start(t, true)
	registrytest.Login(t, host, registrytest.Password)
	docker := "DOCKER_CONFIG=" + os.Getenv("DOCKER_CONFIG")
	cache, project := t.TempDir(), t.TempDir()
	write(t, cache, storyCache)
	write(t, project, storyProject)
	write(t, project, map[string]string{".git/HEAD": "ref: refs/heads/main\n"})
	questions := []string{"which method reads a frame with a deadline", "how large can a frame be", "what is the default jitter of a pause"}
	wanted := []string{"NextBefore", "64 kilobytes", "40 percent"}

	first := newMachine(t, "GOMODCACHE="+cache, docker)
	first.run(project, "add", "--deps")
	answers := first.ask(project, questions)
	for i, want := range wanted {
		if !strings.Contains(answers[i], want) || strings.Contains(answers[i], "NextContext") || strings.Contains(answers[i], "16 megabytes") {
			t.Errorf("%q is answered with\n%s", questions[i], answers[i])
		}
	}

	made := first.libraries(project)
	listed := first.publish(project, host, made)
	team := t.TempDir()
	write(t, team, map[string]string{"deskhand.yaml": listed})
	first.run(team, "sync")
	lock, err := os.ReadFile(filepath.Join(team, "deskhand.lock"))
	if err != nil {
		t.Fatal(err)
	}

	// The second machine has what the team committed, and nothing else.
	for _, gone := range []string{cache, project, team} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	checkout := t.TempDir()
	write(t, checkout, map[string]string{"deskhand.yaml": listed, "deskhand.lock": string(lock)})
	second := newMachine(t, "GOMODCACHE="+filepath.Join(checkout, "none"), docker)
	second.run(checkout, "sync", "--locked")
	if got := second.libraries(checkout); len(got) != 2 || !slices.Equal(got, made) {
		t.Errorf("the libraries are %+v, and were %+v", got, made)
	}
	for i, answer := range second.ask(checkout, questions) {
		if answer != answers[i] {
			t.Errorf("%q is answered with\n%s\nand was with\n%s", questions[i], answer, answers[i])
		}
	}
}
