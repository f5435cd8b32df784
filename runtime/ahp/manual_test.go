package ahp_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/deskhand/deskhand/runtime/ahp"
)

// column are the names in backticks that begin the rows of a section's table.
func column(page, heading string) []string {
	_, rest, _ := strings.Cut(page, "\n## "+heading+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(rest, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			names = append(names, name[1])
		}
	}
	slices.Sort(names)
	return names
}

func TestTheManualListsMethodsAndActions(t *testing.T) {
	page, err := os.ReadFile("../../corpus/reference/channel.md")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := column(string(page), "Methods"), Methods(); !slices.Equal(got, want) {
		t.Errorf("the manual lists the methods %v, there are %v", got, want)
	}
	want := []string{Requested, AnswerChanged, Completed, TurnComplete, TurnCancelled, TurnFailed, Replaced, RootReplaced}
	slices.Sort(want)
	if got := column(string(page), "Actions"); !slices.Equal(got, want) {
		t.Errorf("the manual lists the actions %v, there are %v", got, want)
	}
}

// The contract has 42 lines, E-001 to E-042. What a subscriber sees of them is
// shown here, and E-015, for which an agent asks, where the server is started.
func TestEveryLineHasATest(t *testing.T) {
	shown := map[string]bool{}
	for _, file := range []string{"seed_test.go", "../../cmd/deskhand/channel_test.go"} {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)(?:line\(t, |^\s+|^// )"?(E-\d{3})`).FindAllSubmatch(src, -1) {
			shown[string(m[1])] = true
		}
	}
	for i := 1; i <= 42; i++ {
		if id := fmt.Sprintf("E-%03d", i); !shown[id] {
			t.Errorf("no test is named after %s", id)
		}
	}
}
