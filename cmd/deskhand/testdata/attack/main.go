// Command attack reads what go test -json prints of the hostile tests and makes
// one table of it: of each section and suite how many things were tried, held
// and not tried. It ends with 1 if something did not hold, if a section has no
// test, or if a package does not compile.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// sections are those of the threat model. Their tests are named TestAttack and
// the word; each subtest without subtests is one thing that is tried.
var sections = []struct{ word, title string }{
	{"Approvals", "approvals that show the truth"},
	{"Work", "work that is never lost"},
	{"Starter", "a run belongs to its starter"},
	{"Box", "agents stay in their box"},
	{"Doors", "doors"},
}

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// result is the outcome of one test, or of one of the attacks that it tried.
type result struct {
	pkg, name string
	action    string // pass, fail or skip; empty: it did not end
	output    []string
}

func main() { os.Exit(run(os.Stdin, os.Stdout)) }

func run(in io.Reader, out io.Writer) (code int) {
	results, broken := read(in)
	leaves := leavesOf(results)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tTRIED\tHELD\tNOT TRIED")
	for i, s := range sections {
		all := of(leaves, s.word)
		fmt.Fprintf(w, "%d %s%s\n", i+1, s.title, counts(all))
		if len(all) == 0 {
			broken = append(broken, fmt.Sprintf("section %d, %s, has no test: name one TestAttack%s...", i+1, s.title, s.word))
		}
		for _, suite := range suitesOf(all) {
			fmt.Fprintf(w, "  %s%s\n", suite, counts(inSuite(all, suite)))
		}
	}
	fmt.Fprintf(w, "all%s\n", counts(leaves))
	w.Flush()
	for _, r := range leaves {
		if r.action == "skip" {
			fmt.Fprintf(out, "\nnot tried: %s: %s", r.name, reason(r))
		}
	}
	for _, r := range results {
		if failed(r) && (strings.Join(r.output, "") != "" || slices.Contains(leaves, r)) {
			broken = append(broken, fmt.Sprintf("%s in %s did not hold:\n%s", r.name, r.pkg, strings.Join(r.output, "")))
		}
	}
	for _, why := range broken {
		fmt.Fprintf(out, "\n%s\n", strings.TrimSpace(why))
		code = 1
	}
	return code
}

// read collects the events of each test, and what went wrong outside of tests.
func read(in io.Reader) (results []*result, broken []string) {
	known := map[string]*result{}
	packages := map[string][]string{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) != nil {
			if text := strings.TrimSpace(string(line)); text != "" {
				broken = append(broken, text)
			}
		} else if e.Test != "" {
			r := known[e.Package+"."+e.Test]
			if r == nil {
				r = &result{pkg: e.Package, name: e.Test}
				known[e.Package+"."+e.Test] = r
				results = append(results, r)
			}
			r.take(e)
		} else {
			at := cmp.Or(e.Package, e.ImportPath)
			packages[at] = append(packages[at], e.Output)
			if e.Action == "fail" || e.Action == "build-fail" {
				if text := strings.TrimSpace(strings.Join(packages[at], "")); !ofTests(results, at) {
					broken = append(broken, at+" did not run:\n"+text)
				}
			}
		}
		if err != nil {
			return results, broken
		}
	}
}

func (r *result) take(e event) {
	switch e.Action {
	case "pass", "fail", "skip":
		r.action = e.Action
	case "output":
		text := strings.TrimSpace(e.Output)
		if !strings.HasPrefix(text, "=== ") && !strings.HasPrefix(text, "--- ") {
			r.output = append(r.output, e.Output)
		}
	}
}

// ofTests says whether a package failed because of a test, which is told of.
func ofTests(results []*result, pkg string) bool {
	return slices.ContainsFunc(results, func(r *result) bool { return r.pkg == pkg && failed(r) })
}

func failed(r *result) bool { return r.action != "pass" && r.action != "skip" }

// leavesOf are the tests of sections that have no subtests, in order of name.
func leavesOf(results []*result) (leaves []*result) {
	parents := map[string]bool{}
	for _, r := range results {
		for name := r.name; ; {
			i := strings.LastIndexByte(name, '/')
			if i < 0 {
				break
			}
			name = name[:i]
			parents[r.pkg+"."+name] = true
		}
	}
	for _, r := range results {
		if strings.HasPrefix(r.name, "TestAttack") && !parents[r.pkg+"."+r.name] {
			leaves = append(leaves, r)
		}
	}
	slices.SortStableFunc(leaves, func(a, b *result) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.pkg, b.pkg)) })
	return leaves
}

func of(leaves []*result, word string) (some []*result) {
	for _, r := range leaves {
		if strings.HasPrefix(r.name, "TestAttack"+word) {
			some = append(some, r)
		}
	}
	return some
}

// suite is the test that a thing is tried in.
func (r *result) suite() string {
	name, _, _ := strings.Cut(r.name, "/")
	return name
}

func suitesOf(leaves []*result) (suites []string) {
	for _, r := range leaves {
		suites = append(suites, r.suite())
	}
	return slices.Compact(suites)
}

func inSuite(leaves []*result, suite string) (some []*result) {
	for _, r := range leaves {
		if r.suite() == suite {
			some = append(some, r)
		}
	}
	return some
}

// counts are the columns of a row.
func counts(leaves []*result) string {
	held, not := 0, 0
	for _, r := range leaves {
		switch r.action {
		case "pass":
			held++
		case "skip":
			not++
		}
	}
	return fmt.Sprintf("\t%d\t%d\t%d", len(leaves)-not, held, not)
}

// reason is why a test was skipped, in a line.
func reason(r *result) string {
	text := strings.Join(strings.Fields(strings.Join(r.output, " ")), " ")
	if _, why, ok := strings.Cut(text, ".go:"); ok {
		if _, why, ok = strings.Cut(why, ": "); ok {
			return why
		}
	}
	return cmp.Or(text, "it does not say why")
}
