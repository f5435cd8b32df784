package work

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

var roomKeys = slices.Concat(tasks.Codes, tasks.Cases)

// Every code and case of the room has a hint here, and there is no other. A hint
// is of the room's words and the tool, or names tools, a field or what to do.
func TestEveryFaultOfTheRoomHasAHint(t *testing.T) {
	for _, one := range tasks.Cases {
		if slices.Contains(tasks.Codes, one) {
			t.Errorf("%s is a code and a case", one)
		}
	}
	values := strings.Fields("hint tool action attempt folder machine path")
	for _, key := range roomKeys {
		if hints[key] == "" {
			t.Errorf("no hint for %s", key)
		}
	}
	for key, text := range hints {
		if key != worded && !slices.Contains(roomKeys, key) {
			t.Errorf("the room has no %s", key)
		}
		for _, name := range fault.Names(text) {
			if !slices.Contains(values, name) {
				t.Errorf("%s: no fault has the value %s", key, name)
			}
		}
	}
}

// A hint keeps the values of a fault as they are, whatever they look like.
func TestValuesOfHintsAreNotRenamed(t *testing.T) {
	o := Options{Prefix: "acme"}
	f := fault.New(tasks.NotFound, "m", "h").WithCase(tasks.RepoNotHere, "path", "/srv/get_task")
	const want = "start the attempt on the machine that has the repository, or have it cloned to /srv/get_task here; then call acme_get_task again"
	if got := o.hint("acme_get_task", f); got != want {
		t.Errorf("hint %q, want %q", got, want)
	}
	if got := o.hint("acme_get_task", fault.New("store_newer", "m", "use that version")); got != "use that version; then call acme_get_task again" {
		t.Errorf("hint of another room's fault: %q", got)
	}
}

// commandLine matches what a room does not say: a command of deskhand; flag
// matches a flag within a sentence.
var (
	commandLine = regexp.MustCompile(`\bdeskhand (tasks|serve|index|ask|inbox|connect|trust|config|search|get|init|version)\b`)
	flag        = regexp.MustCompile(`[\s(=]--[a-z]+`)
)

// The room returns codes, and the doors word them: no text of runtime/tasks names
// a tool, a command or a flag of deskhand. Flags of git are said after its name.
func TestTheRoomNamesNoToolAndNoCommand(t *testing.T) {
	read := 0
	eachText(t, "../../tasks", func(place, text string) {
		read++
		for _, tool := range named(text) {
			t.Errorf("%s names the tool %s: %q", place, tool, text)
		}
		if said := commandLine.FindString(text); said != "" {
			t.Errorf("%s names %q: %q", place, said, text)
		}
		if at := flag.FindStringIndex(text); at != nil && !strings.Contains(text[:at[1]], "git") {
			t.Errorf("%s names the flag %q: %q", place, text[at[0]:at[1]], text)
		}
	})
	if read < 1000 {
		t.Errorf("%d texts were read, want those of the whole room", read)
	}
}

// Every fault of the room is made with a constant, and every constant is in the
// list that doors are checked with.
func TestTheRoomListsItsFaults(t *testing.T) {
	for _, pkg := range []string{"../../tasks", "../../tasks/worktree", "../../tasks/box", "../../tasks/executor"} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(pkg, "codes.go"), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		constants := 0
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				for _, spec := range g.Specs {
					constants++
					if key := spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value; !slices.Contains(roomKeys, strings.Trim(key, `"`)) {
						t.Errorf("%s/codes.go: neither tasks.Codes nor tasks.Cases has %s", pkg, key)
					}
				}
			}
		}
		if constants == 0 {
			t.Errorf("%s/codes.go has no constant", pkg)
		}
	}
	made := map[string]int{"New": 0, "WithCase": 0, "refuse": 0, "later": 0, "absent": 1}
	eachCall(t, "../../tasks", func(place, name string, args []ast.Expr) {
		at, ok := made[name]
		if !ok || len(args) <= at {
			return
		}
		if l, ok := args[at].(*ast.BasicLit); ok && l.Kind == token.STRING && l.Value != `""` {
			t.Errorf("%s makes a fault of %s: want a constant of codes.go", place, l.Value)
		}
	})
}

// eachText calls do with the string literals in the code of a folder and those
// below, without tests, imports and tags.
func eachText(t *testing.T, dir string, do func(place, text string)) {
	t.Helper()
	eachNode(t, dir, func(place string, n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				break
			}
			text, err := strconv.Unquote(n.Value)
			if err != nil {
				t.Fatalf("%s: %v", place, err)
			}
			do(place, text)
		}
		return true
	})
}

// eachCall calls do with the calls of functions and methods there.
func eachCall(t *testing.T, dir string, do func(place, name string, args []ast.Expr)) {
	t.Helper()
	eachNode(t, dir, func(place string, n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			do(place, f.Name, call.Args)
		case *ast.SelectorExpr:
			if x, ok := f.X.(*ast.Ident); f.Sel.Name != "New" || ok && x.Name == "fault" { // errors.New has a text
				do(place, f.Sel.Name, call.Args)
			}
		}
		return true
	})
}

func eachNode(t *testing.T, dir string, do func(place string, n ast.Node) bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "modeltest") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool { return n == nil || do(set.Position(n.Pos()).String(), n) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
