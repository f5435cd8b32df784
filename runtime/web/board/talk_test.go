package board

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/tasks"
)

func TestLinesAreReadAsTheyAreWritten(t *testing.T) {
	for given, want := range map[string]anchor{
		"12": {false, 12, 12}, "n12": {false, 12, 12}, "o3": {true, 3, 3}, "n12-15": {false, 12, 15}, "o15-12": {true, 12, 15}, " 12 - 15 ": {false, 12, 15},
		"": {}, "x": {}, "0": {}, "-3": {}, "n": {},
	} {
		if got := anchorOf([]string{given, ""}); got != want {
			t.Errorf("anchorOf(%q) = %+v, want %+v", given, got, want)
		}
	}
}

func TestAReviewIsOneMessage(t *testing.T) {
	got := withComments("Two things.", []tasks.Comment{
		{Path: "shop/a.go", First: 3, Last: 4, Quote: "x\ny", Body: "Why?\nReally?"},
		{Path: "shop/b.go", Old: true, First: 7, Last: 7, Quote: "z", Body: "Keep it."},
	}, true)
	want := "Two things.\n\nComments on your changes:\n\n1. `a.go`, lines 3 to 4\n\n   > x\n   > y\n\n   Why?\n   Really?\n\n2. `b.go`, line 7 before the change\n\n   > z\n\n   Keep it."
	if got != want {
		t.Errorf("the message is\n%s\nwant\n%s", got, want)
	}
}
