package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every hostile suite is named on the page that says what is defended, by its
// name or by how it begins.
func TestTheThreatModelNamesEverySuite(t *testing.T) {
	page, err := os.ReadFile("../../docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(TestAttack\\w+\\*?)`").FindAllStringSubmatch(string(page), -1)
	declared := regexp.MustCompile(`(?m)^func (TestAttack\w+)\(`)
	found := 0
	err = filepath.WalkDir("../..", func(file string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata") {
			return err
		}
		source, err := os.ReadFile(file)
		for _, m := range declared.FindAllSubmatch(source, -1) {
			found++
			suite := string(m[1])
			if !slices.ContainsFunc(named, func(n []string) bool { ok, _ := path.Match(n[1], suite); return ok }) {
				t.Errorf("%s of %s is not on docs/threat-model.md", suite, file)
			}
		}
		return err
	})
	if err != nil || found == 0 {
		t.Fatalf("%d suites, %v", found, err)
	}
}
