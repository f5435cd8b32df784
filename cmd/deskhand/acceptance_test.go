package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// manual is the folder of the pages that the tests hold the program to.
const manual = "../../corpus"

// stated wants a page of the manual to say something where the contract of the
// tools leaves a choice. Case and line ends do not count.
func stated(t *testing.T, page string, phrases ...string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(manual, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ToLower(strings.Join(strings.Fields(string(b)), " "))
	for _, phrase := range phrases {
		if !strings.Contains(text, strings.ToLower(phrase)) {
			t.Errorf("%s does not say %q", page, phrase)
		}
	}
}

// The contracts of search_docs and get_doc have lines D-001 to D-074, that of
// ask_user; the tests that show one to hold are named after it.
func TestEveryLineOfTheContractHasATest(t *testing.T) {
	files, err := filepath.Glob("acceptance_*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`[({]"([AD]-\d{3})`).FindAllSubmatch(src, -1) {
			shown[string(m[1])] = true
		}
	}
	for letter, lines := range map[string]int{"A": 66, "D": 74} {
		for i := 1; i <= lines; i++ {
			if id := fmt.Sprintf("%s-%03d", letter, i); !shown[id] {
				t.Errorf("no test is named after %s", id)
			}
		}
	}
}
