// Command attack reads the output of go test -json for the hostile tests and
// turns it into one table. For each section and suite, the table shows how many
// attacks were tried, how many were withstood, and how many were not tried. The
// command exits with status 1 if an attack succeeded, a section has no tests, or
// a package does not compile.
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

// sections lists the sections of the threat model. The names of a section's tests
// start with TestAttack and the section's word. Each test or subtest without
// subtests is one attack.
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

// result is the outcome of one test or subtest.
type result struct {
	pkg, name string
	action    string // pass, fail or skip, or empty if the test did not end
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

// read returns the results of all tests, and the errors that occurred outside
// tests.
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

// ofTests reports whether a package failed because of one of its tests. Such a
// failure is reported with the test.
func ofTests(results []*result, pkg string) bool {
	return slices.ContainsFunc(results, func(r *result) bool { return r.pkg == pkg && failed(r) })
}

func failed(r *result) bool { return r.action != "pass" && r.action != "skip" }

// leavesOf returns the tests in sections that have no subtests, sorted by name.
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

// suite returns the name of the test that contains the subtest.
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

// counts returns the columns of a row: the numbers of attacks tried, withstood
// and not tried.
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

// reason returns why a test was skipped, on one line.
func reason(r *result) string {
	text := strings.Join(strings.Fields(strings.Join(r.output, " ")), " ")
	if _, why, ok := strings.Cut(text, ".go:"); ok {
		if _, why, ok = strings.Cut(why, ": "); ok {
			return why
		}
	}
	return cmp.Or(text, "it does not say why")
}
