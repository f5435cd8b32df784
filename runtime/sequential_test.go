package runtime

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var sequential = regexp.MustCompile(`(?m)^SEQUENTIAL = (.+)$`)

// TestPackagesWithoutTheRaceDetectorAreSequential checks those that the Makefile names.
func TestPackagesWithoutTheRaceDetectorAreSequential(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	list := sequential.FindSubmatch(makefile)
	if list == nil {
		t.Fatalf("the Makefile has no line like %s", sequential)
	}
	for _, dir := range strings.Fields(string(list[1])) {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no Go files (%v)", dir, err)
		}
		for _, name := range files {
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range concurrent(f) {
				t.Errorf("%s starts something that runs concurrently: take %s out of SEQUENTIAL in the Makefile", set.Position(at), dir)
			}
		}
	}
}

// concurrent returns where code starts a goroutine, by itself, by a group, or as a test that
// runs beside others.
func concurrent(f ast.Node) (all []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			all = append(all, n.Pos())
		case *ast.SelectorExpr:
			switch n.Sel.Name {
			case "Go", "Parallel", "RunParallel", "AfterFunc":
				all = append(all, n.Pos())
			}
		}
		return true
	})
	return all
}

func TestConcurrentCodeIsFound(t *testing.T) {
	for code, want := range map[string]int{
		"go f()":                   1,
		"wg.Go(f)":                 1,
		"t.Parallel(); f()":        1,
		"b.RunParallel(f)":         1,
		"time.AfterFunc(delay, f)": 1,
		"f(); time.Since(start)":   0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc _() { "+code+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(concurrent(f)); got != want {
			t.Errorf("%s: found %d, want %d", code, got, want)
		}
	}
}
