package runtime

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sleepers are the functions of tests that may sleep, and why: each plays
// somebody who takes time, or picks a moment. A test that waits for something
// uses waittest.Until; one whose subject is time uses testing/synctest.
var sleepers = map[string]string{
	"cmd/deskhand/TestAKilledServerLosesNoAnswer":                     "a person who answers a little after the call",
	"cmd/deskhand/TestAStreamOfAnAgentDoesNotHoldUpTheEnd":            "a server ends some time after a stream was opened",
	"cmd/deskhand/TestAWindowThatWaitsForNewsDoesNotHoldUpTheEnd":     "a server ends some time after a window began to wait",
	"cmd/deskhand/TestAnotherPeerTakesTheInboxOver":                   "a process begins to stand by before the first is killed",
	"cmd/deskhand/TestAnswersOfAskUser":                               "a person who takes a quarter of a second",
	"cmd/deskhand/TestWorkFollowUps":                                  "a cancelled message is given time to run",
	"cmd/deskhand/eventually":                                         "agents in sandboxes, which may take longer to start than waittest.Patience",
	"cmd/deskhand/lingering":                                          "removes a folder in which others still write, after the test",
	"cmd/deskhand/realTools":                                          "servers from npm, which may take longer than waittest.Patience",
	"cmd/deskhand/until":                                              "polls beside the test, which waittest.Until may not",
	"cmd/deskhand/waits":                                              "polls for a test script, which has no testing.TB",
	"indexer/embed/TestRemoteLetsRequestsEndThatArePaidFor":           "an embedder that answers a little after it refused",
	"runtime/gateway/token":                                           "an issuer that takes time, so that renewals meet",
	"runtime/store/storetest/delayed":                                 "a network that takes time",
	"runtime/store/storetest/ready":                                   "starts a database, before any test",
	"runtime/tasks/TestAKilledRunnerLosesNothing":                     "the moment of a kill",
	"runtime/tasks/TestAStoreThatWasCutOffIsWhole":                    "the moment of a kill",
	"runtime/tasks/TestAttackBoxAContainerExecutorsRunnerIsKilled":    "the moment of a kill",
	"runtime/tasks/TestAttackWorkKilledAnywhereNoCommitIsLost":        "the moment of a kill",
	"runtime/tasks/TestKilledRunnersLeaveNothingWaiting":              "the moment of a kill",
	"runtime/tasks/gone":                                              "after a test, while processes that it stopped end",
	"runtime/tasks/do":                                                "retries in a process that has no test",
	"runtime/tasks/followWhenPossible":                                "retries beside the test",
	"runtime/tasks/kill":                                              "the moment of a kill",
	"runtime/tasks/logs/TestReplacementsAndBatchesDoNotLoseEachOther": "a writer that pauses, so that batches end",
	"runtime/tasks/options":                                           "a person who looks for a file, in a process that has no test",
	"runtime/web/TestSlowClientsAreLetGo":                             "a client that sends a line now and then",
	"runtime/ahp/end":                                                 "polls beside the test, which waittest.Until may not",
}

// longSleep is what no test sleeps, whoever it plays.
const longSleep = 300 * time.Millisecond

func TestTestsDoNotSleep(t *testing.T) {
	sleeps := sleepsOfTests(t)
	seen := map[string]bool{}
	for _, s := range sleeps {
		seen[s.function] = true
		if strings.HasPrefix(path.Base(s.function), "Benchmark") {
			continue // it measures for that long
		}
		switch _, known := sleepers[s.function]; {
		case s.known && s.time >= longSleep:
			t.Errorf("%s sleeps %v: wait for a condition with waittest.Until, or use testing/synctest", s.at, s.time)
		case !known:
			t.Errorf("%s sleeps in %q: wait for a condition with waittest.Until, use testing/synctest, or add it to the table with the reason", s.at, s.function)
		}
	}
	for function := range sleepers {
		if !seen[function] {
			t.Errorf("the table has %q, which does not sleep", function)
		}
	}
}

// sleep is one that is not in a bubble of synctest.
type sleep struct {
	at       token.Position
	function string        // directory and name of the function around it
	time     time.Duration // if it is known
	known    bool
}

// sleepsOfTests reads every file of the module that is a test or imports
// testing.
func sleepsOfTests(t *testing.T) (all []sleep) {
	t.Helper()
	set := token.NewFileSet()
	packages := map[string][]*ast.File{}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "waittest"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, "_test.go") || importsTesting(f) {
			dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "../")
			packages[dir] = append(packages[dir], f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, files := range packages {
		bubbles := map[string]bool{"synctest.Test": true}
		for _, f := range files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && callsBubble(fn) {
					bubbles[fn.Name.Name] = true
				}
			}
		}
		for _, f := range files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					for _, call := range sleepsIn(fn.Body, bubbles) {
						lasts, known := constant(call.Args[0])
						all = append(all, sleep{set.Position(call.Pos()), path.Join(dir, fn.Name.Name), lasts, known})
					}
				}
			}
		}
	}
	return all
}

func importsTesting(f *ast.File) bool {
	for _, i := range f.Imports {
		if i.Path.Value == `"testing"` {
			return true
		}
	}
	return false
}

// called is the name of what a call calls, with its package if it has one.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			return x.Name + "." + f.Sel.Name
		}
	}
	return ""
}

// callsBubble says that a function runs one that it is given in synctest.
func callsBubble(fn *ast.FuncDecl) (calls bool) {
	for _, p := range fn.Type.Params.List {
		if _, ok := p.Type.(*ast.FuncType); ok {
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				calls = calls || ok && called(call) == "synctest.Test"
				return true
			})
		}
	}
	return calls
}

// sleepsIn are the calls of time.Sleep, and the receives from time.After that
// wait for nothing else, outside of the bubbles.
func sleepsIn(body ast.Node, bubbles map[string]bool) (all []*ast.CallExpr) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if called(n) == "time.Sleep" {
				all = append(all, n)
			}
			return !bubbles[called(n)]
		case *ast.CommClause: // of a select, which waits for something else too
			for _, s := range n.Body {
				all = append(all, sleepsIn(s, bubbles)...)
			}
			return false
		case *ast.UnaryExpr:
			if call, ok := n.X.(*ast.CallExpr); ok && n.Op == token.ARROW && called(call) == "time.After" {
				all = append(all, call)
			}
		}
		return true
	})
	return all
}

var units = map[string]time.Duration{"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
	"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}

// constant is the value of a duration that is written as a product or a sum of
// numbers and units.
func constant(e ast.Expr) (time.Duration, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return constant(e.X)
	case *ast.BasicLit:
		n, err := strconv.ParseInt(e.Value, 0, 64)
		return time.Duration(n), err == nil
	case *ast.SelectorExpr:
		d, ok := units[e.Sel.Name]
		return d, ok
	case *ast.BinaryExpr:
		x, ok := constant(e.X)
		y, too := constant(e.Y)
		switch e.Op {
		case token.MUL:
			return x * y, ok && too
		case token.ADD:
			return x + y, ok && too
		case token.QUO:
			return x / max(y, 1), ok && too
		}
	}
	return 0, false
}

func TestSleepsAreFound(t *testing.T) {
	const source = `package p
func a() { time.Sleep(2 * time.Second) }
func b() { synctest.Test(t, func(t *testing.T) { time.Sleep(time.Hour) }) }
func c() { for ok() { <-time.After(250 * time.Millisecond) } }
func d() { select { case <-done: time.Sleep(pace); case <-time.After(time.Minute): } }
func e() { bubble(t, func() { time.Sleep(time.Hour) }) }
`
	f, err := parser.ParseFile(token.NewFileSet(), "p_test.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "2s", "b": "", "c": "250ms", "d": "unknown", "e": ""}
	for _, d := range f.Decls {
		fn, got := d.(*ast.FuncDecl), ""
		for _, call := range sleepsIn(fn.Body, map[string]bool{"synctest.Test": true, "bubble": true}) {
			if lasts, known := constant(call.Args[0]); known {
				got += lasts.String()
			} else {
				got += "unknown"
			}
		}
		if got != want[fn.Name.Name] {
			t.Errorf("the sleeps of %s are %q, want %q", fn.Name.Name, got, want[fn.Name.Name])
		}
	}
}
