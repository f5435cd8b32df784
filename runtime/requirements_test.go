package runtime

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const requirements = "../docs/requirements.md"

var (
	requirementID    = regexp.MustCompile(`\b([ATDEI])-(\d{3})\b(?: to [ATDEI]-(\d{3})\b)?`)
	requirementRow   = regexp.MustCompile(`^\| ([ATDEI]-\d{3}) \| (.+?) \| (.*) \|$`)
	requirementTests = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)`)
)

// TestRequirementsAreListed compares docs/requirements.md with the ids that
// tests name. The lines are written by hand; UPDATE=1 writes the column of tests.
func TestRequirementsAreListed(t *testing.T) {
	named := requirementsNamed(t)
	old, err := os.ReadFile(requirements)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(old), "\n")
	listed := map[string]bool{}
	for i, line := range lines {
		row := requirementRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		id := row[1]
		if listed[id] {
			t.Errorf("%s has two lines", id)
		}
		listed[id] = true
		if len(named[id]) == 0 {
			t.Errorf("%s is named by no test: name it in the test that shows it, or take its line out", id)
		}
		lines[i] = fmt.Sprintf("| %s | %s | %s |", id, row[2], shown(named[id]))
	}
	for _, id := range slices.Sorted(maps.Keys(named)) {
		if !listed[id] {
			t.Errorf("%s has no line in docs/requirements.md, and %s names it: write one", id, shown(named[id]))
		}
	}
	updated := strings.Join(lines, "\n")
	if os.Getenv("UPDATE") != "" && !t.Failed() {
		if err := os.WriteFile(requirements, []byte(updated), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if updated != string(old) {
		t.Error("the tests in docs/requirements.md are not those that name the ids: UPDATE=1 go test -run Requirements ./runtime")
	}
}

// shown is a column: the tests by their packages.
func shown(tests map[string]bool) string {
	byPackage := map[string][]string{}
	for _, test := range slices.Sorted(maps.Keys(tests)) {
		dir, name := path.Split(test)
		byPackage[dir] = append(byPackage[dir], name)
	}
	var all []string
	for _, dir := range slices.Sorted(maps.Keys(byPackage)) {
		all = append(all, "`"+strings.TrimSuffix(dir, "/")+"` "+strings.Join(byPackage[dir], ", "))
	}
	return strings.Join(all, "; ")
}

// requirementsNamed are the ids that tests name, each with the tests: directory
// and function, or the file where an id stands in no test function.
func requirementsNamed(t *testing.T) map[string]map[string]bool {
	t.Helper()
	named := map[string]map[string]bool{}
	set := token.NewFileSet()
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go") || d.Name() == "requirements_test.go":
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		found := requirementID.FindAllSubmatchIndex(source, -1)
		if found == nil {
			return nil
		}
		f, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "../")
		for _, at := range found {
			test := path.Join(dir, testAround(f, set, at[0], d.Name()))
			for _, id := range idsOf(source, at) {
				if named[id] == nil {
					named[id] = map[string]bool{}
				}
				named[id][test] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return named
}

// wholeContract is the length of a range that names a contract, and shows
// nothing of it.
const wholeContract = 30

// idsOf are the ids of a match: one, or those from one to another.
func idsOf(source []byte, at []int) (ids []string) {
	text := func(group int) string { return string(source[at[2*group]:at[2*group+1]]) }
	first, _ := strconv.Atoi(text(2)) // three digits
	last := first
	if at[6] >= 0 {
		last, _ = strconv.Atoi(text(3))
	}
	if last-first > wholeContract {
		return nil
	}
	for n := first; n <= last; n++ {
		ids = append(ids, fmt.Sprintf("%s-%03d", text(1), n))
	}
	return ids
}

// testAround is the test whose code or comment holds an offset; else the file.
func testAround(f *ast.File, set *token.FileSet, offset int, file string) string {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from := fn.Pos()
		if fn.Doc != nil {
			from = fn.Doc.Pos()
		}
		if set.Position(from).Offset <= offset && offset < set.Position(fn.End()).Offset && requirementTests.MatchString(fn.Name.Name) {
			return fn.Name.Name
		}
	}
	return file
}
