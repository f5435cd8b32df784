package runtime

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/deskhand/deskhand/"

// floors are the packages from the ground up. A package imports packages of
// lower floors alone: two on one floor do not know each other. A new package is
// one word here.
var floors = [][]string{
	{"runtime/access", "runtime/filelock", "runtime/rota", "runtime/text", "runtime/web/diff", "corpus", "deploy/identity"},
	{"runtime/fault", "runtime/proc", "runtime/routing", "runtime/clients", "chunker", "indexer/language", "runtime/store", "indexer/embed/model", "indexer/scratch", "runtime/web/page", "runtime/surface/slack/slacktest", "runtime/tasks/executor/modeltest", "runtime/tasks/executor/fakeagent", "runtime/netguard", "runtime/surface/mail/mailtest", "runtime/trust", "runtime/waittest", "runtime/racetest", "runtime/goldentest", "runtime/simulate", "runtime/forge/forgetest", "runtime/webpush/webpushtest", "indexer/oci/registrytest", "runtime/signin/signintest"},
	{"runtime/contract", "runtime/firstgc", "runtime/manual", "indexer/artifact", "indexer/embed", "indexer/formats", "runtime/store/storetest", "runtime/tasks/worktree", "runtime/tasks/logs", "runtime/tasks/box", "runtime/tasks/box/boxtest", "runtime/forge", "runtime/webpush", "runtime/ranker", "runtime/people", "runtime/rules", "runtime/usage", "runtime/tasks/imports", "runtime/store/backup", "runtime/audit", "runtime/outbox"},
	{"indexer", "indexer/source", "indexer/oci", "runtime/contract/contracttest", "runtime/search", "runtime/elicit", "indexer/embed/train", "runtime/tasks/executor", "runtime/signin"},
	{"indexer/embed/train/multilingual", "indexer/shelf", "runtime/eval", "runtime/tasks", "runtime/elicit/form", "runtime/elicit/askdoor", "runtime/calls", "runtime/gaps", "runtime/setup"},
	{"indexer/deps", "runtime/ranker/train", "runtime/tools/docs", "runtime/tools/ask", "runtime/tools/work", "runtime/mcpserver", "runtime/web", "runtime/ahp", "runtime/surface/terminal", "runtime/web/inbox", "runtime/web/searchpage", "runtime/web/manualpage", "runtime/web/board", "runtime/web/views", "runtime/surface/notify", "runtime/gateway", "runtime/surface/slack", "runtime/surface/mail", "runtime/telemetry", "runtime/a2a", "runtime/chat", "runtime/phrases"},
	{"runtime/surface", "runtime/console", "runtime/eval/remote", "runtime/tools/land"},
	{"runtime/app", "runtime/console/askline", "runtime/console/attempts", "runtime/console/builds", "runtime/console/evals", "runtime/console/libraries", "runtime/console/manpage", "runtime/console/onboarding", "runtime/console/team", "runtime/console/upkeep"},
	{"runtime/doctor", "cmd/deskhand/settings"},
	{"cmd/deskhand", "deploy/release", "deploy/site"},
}

// notBelow are imports that the floors would allow and the line corpus,
// chunker, indexer, runtime, cmd does not: what serves does not build.
var notBelow = map[string][]string{
	"runtime/eval":           {"indexer"},
	"runtime/tools/docs":     {"indexer", "runtime/eval"},
	"runtime/tools/ask":      {"indexer", "indexer/artifact", "runtime/search", "runtime/eval", "runtime/store"},
	"runtime/tools/work":     {"indexer", "indexer/artifact", "runtime/search", "runtime/eval", "runtime/store", "runtime/elicit"},
	"runtime/tools/land":     {"indexer", "indexer/artifact", "runtime/search", "runtime/eval", "runtime/store"},
	"runtime/mcpserver":      {"indexer", "indexer/artifact", "runtime/search", "runtime/eval"},
	"runtime/ahp":            {"indexer", "indexer/artifact", "runtime/search", "runtime/eval", "runtime/contract"},
	"runtime/web":            {"indexer", "indexer/artifact", "runtime/search", "runtime/eval", "runtime/contract"},
	"runtime/web/board":      {"indexer", "indexer/artifact", "runtime/search", "runtime/eval", "runtime/contract", "runtime/elicit", "runtime/store"},
	"runtime/web/inbox":      {"indexer", "indexer/artifact", "runtime/search", "runtime/eval", "runtime/contract"},
	"runtime/web/searchpage": {"indexer", "indexer/artifact", "runtime/search", "runtime/eval", "runtime/elicit", "runtime/store"},
	"runtime/web/views":      {"indexer", "indexer/artifact", "runtime/search", "runtime/eval", "runtime/store"},
	"runtime/gateway":        {"indexer", "indexer/artifact", "runtime/search", "runtime/eval"},
}

// libraries are the heavy ones and the packages that may use them.
var libraries = map[string][]string{
	"github.com/yuin/goldmark":               {"chunker", "runtime/web/page", "runtime/web/manualpage", "runtime/console"},
	"github.com/JohannesKaufmann/":           {"indexer/formats"},
	"github.com/blugelabs/":                  {"indexer/artifact"},
	"github.com/blevesearch/":                {"indexer/artifact", "indexer/language"},
	"github.com/philippgille/chromem-go":     {"indexer/artifact", "indexer/embed"},
	"github.com/spf13/viper":                 {"cmd/deskhand/settings"},
	"github.com/spf13/":                      {"cmd/deskhand", "cmd/deskhand/settings"},
	"github.com/modelcontextprotocol/go-sdk": {"runtime/mcpserver", "runtime/gateway"},
	"github.com/yosida95/uritemplate":        {"runtime/mcpserver", "runtime/gateway"},
	"golang.org/x/oauth2":                    {"runtime/gateway", "runtime/signin"},
	"github.com/coreos/go-oidc/":             {"runtime/signin"},
	"go.opentelemetry.io/":                   {"runtime/telemetry"},
	"filippo.io/age":                         {"runtime/gateway"},
	"github.com/google/jsonschema-go":        {"runtime/contract", "runtime/tools/docs", "runtime/tools/ask", "runtime/tools/work", "runtime/web/views", "deploy/release/validate"},
	"github.com/prometheus/":                 {"runtime/web"},
	"github.com/piglig/go-qr":                {"runtime/web"},
	"github.com/coder/websocket":             {"runtime/ahp", "runtime/surface/slack/slacktest"},
	"charm.land/":                            {"runtime/surface/terminal", "runtime/surface/notify"},
	"github.com/charmbracelet/":              {"runtime/console", "runtime/surface/terminal", "runtime/surface/notify", "deploy/recording"},
	"github.com/a2aproject/":                 {"runtime/a2a", "runtime/tasks/executor"},
	"github.com/slack-go/":                   {"runtime/surface/slack"},
	"modernc.org/":                           {"runtime/store"},
	"github.com/pressly/goose/":              {"runtime/store"},
	"github.com/coder/acp-go-sdk":            {"runtime/tasks/executor"},
	"github.com/fsnotify/":                   {"runtime/store", "runtime/app"},
	"github.com/landlock-lsm/":               {"runtime/tasks/box"},
	"github.com/tailscale/hujson":            {"runtime/setup"},
	"github.com/pelletier/go-toml/":          {"runtime/setup", "indexer/deps"},
	"oras.land/oras-go/":                     {"indexer/oci"},
	"github.com/opencontainers/":             {"indexer/oci"},
	"mvdan.cc/sh/":                           {"runtime/rules"},
	"github.com/arran4/golang-ical":          {"runtime/rota"},
	"github.com/teambition/rrule-go":         {"runtime/rota"},
	"github.com/jackc/pgx/":                  {"runtime/store", "runtime/store/storetest", "runtime/tasks/worktree"},
}

func TestImportsPointOneWay(t *testing.T) {
	floor := map[string]int{"runtime": -1}
	for i, packages := range floors {
		for _, p := range packages {
			floor[p] = i
		}
	}
	seen := map[string]bool{}
	imports(t, func(pkg, path string, test bool) {
		seen[pkg] = true
		own, ok := strings.CutPrefix(path, module)
		if !ok {
			for library, users := range libraries {
				if strings.HasPrefix(path, library) && !contains(users, pkg) && !test {
					t.Errorf("%s imports %s, which is for %v alone", pkg, path, users)
				}
			}
			return
		}
		from, known := floor[pkg]
		to, knownToo := floor[own]
		switch {
		case !known:
			t.Errorf("package %s has no floor: add it to the table", pkg)
		case !knownToo:
			t.Errorf("%s imports %s, which has no floor: add it to the table", pkg, own)
		case own != pkg && to >= from && !test:
			t.Errorf("%s (floor %d) imports %s (floor %d)", pkg, from, own, to)
		case contains(notBelow[pkg], own) && !test:
			t.Errorf("%s imports %s", pkg, own)
		}
	})
	for p := range floor {
		if !seen[p] && p != "runtime" {
			t.Errorf("the table has %s, the tree has not", p)
		}
	}
}

// TestTheInstallationAloneOpensTheStore looks for calls of store.Open outside
// tests: what is opened twice in a process is watched twice.
func TestTheInstallationAloneOpensTheStore(t *testing.T) {
	found := 0
	files(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		text, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "store.Open(") {
			return
		}
		switch dir := filepath.ToSlash(filepath.Dir(path)); dir {
		case "runtime/app":
			found++
		case "runtime/store/storetest":
		default:
			t.Errorf("%s opens the store: ask runtime/app for it", path)
		}
	})
	if found != 1 {
		t.Errorf("%d files of runtime/app open the store, want one", found)
	}
}

// signals is the only file of cmd that may start a goroutine: what runs beside a
// command has an end that tests can wait for, below cmd.
const signals = "root.go"

// TestCommandsStartNothingOnTheirOwn looks for goroutines, of a go statement or of
// a group, in the commands.
func TestCommandsStartNothingOnTheirOwn(t *testing.T) {
	commands(t, func(path string, f *ast.File, set *token.FileSet) {
		if filepath.Base(path) == signals {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine: put what it does below cmd", set.Position(n.Pos()))
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "Go" || s.Sel.Name == "AfterFunc") {
					t.Errorf("%s starts a goroutine with %s: put what it does below cmd", set.Position(n.Pos()), s.Sel.Name)
				}
			}
			return true
		})
	})
}

// mostOfCmd is how many lines the commands may have, settings and tests aside. It
// only ever goes down, except for a new command, which is some 100 lines.
const mostOfCmd = 5200

// TestCommandsStaySmall counts their lines: what is no flag, no help and no
// completion belongs below cmd.
func TestCommandsStaySmall(t *testing.T) {
	lines := 0
	commands(t, func(_ string, f *ast.File, set *token.FileSet) { lines += set.File(f.Pos()).LineCount() })
	if lines > mostOfCmd {
		t.Errorf("cmd/deskhand has %d lines, at most %d are allowed: move what is no flag, help or completion below it", lines, mostOfCmd)
	}
	if lines < mostOfCmd/2 {
		t.Errorf("%d lines counted, which cannot be all", lines)
	}
}

// commands visits every file of cmd but tests and settings.
func commands(t *testing.T, visit func(path string, f *ast.File, set *token.FileSet)) {
	t.Helper()
	files(t, func(path string) {
		slashed := filepath.ToSlash(path)
		if !strings.HasPrefix(slashed, "cmd/") || strings.HasSuffix(path, "_test.go") || strings.Contains(slashed, "/testdata/") || strings.HasPrefix(slashed, "cmd/deskhand/settings/") {
			return
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, filepath.Join("..", path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		visit(path, f, set)
	})
}

// files visits every Go file of the module, those of testdata too.
func files(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != ".." && (strings.HasPrefix(name, ".") || name == "node_modules") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			rel, err := filepath.Rel("..", path)
			if err != nil {
				return err
			}
			visit(rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

// imports visits every import of every Go file of the module.
func imports(t *testing.T, visit func(pkg, path string, test bool)) {
	t.Helper()
	root := ".."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("parse %s: %w", path, err)
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			visit(filepath.ToSlash(dir), name, strings.HasSuffix(path, "_test.go"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
