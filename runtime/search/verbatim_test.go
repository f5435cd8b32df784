package search

import (
	"context"
	"testing"
)

// messagePages are about nodes that stop; only one of them has the message.
var messagePages = map[string]string{
	"recovery.md": "# Recovery\n\nStart the server in this mode if it does not come up any more, or if its log has `leader stepped down while writing`. " +
		"It rebuilds what it can from the object store, reports what it could not rebuild, and stops.\n",
	"nodes.md":   "# Nodes\n\nThe leader does all writing while a node is down. It stepped up for that.\n",
	"disks.md":   "# Disks\n\nUse a fast disk for the journal. A slow disk delays every write.\n",
	"users.md":   "# Users\n\nWho may sign in stands in a list, one name a line. Names are in small letters.\n",
	"network.md": "# Network\n\nThe server listens on one address. Put a proxy in front of it for certificates.\n",
}

func TestTextThatASectionHasWordForWordFindsIt(t *testing.T) {
	page, err := embedded(t, messagePages).Search(context.Background(), Query{Text: "leader stepped down while writing", Explain: true})
	if err != nil || len(page.Hits) < 2 {
		t.Fatalf("%+v, %v", page, err)
	}
	if hit := page.Hits[0]; hit.Path != "recovery.md" || hit.Evidence.Verbatim < 0.5 {
		t.Errorf("the first hit is %s with %+v, want recovery.md, which has the message word for word", hit.Path, hit.Evidence)
	}
	if next := page.Hits[1].Evidence; next.Words < 1 || next.Meaning < 1 {
		t.Errorf("the second hit has %+v, want the best by words and by meaning, or the test shows nothing", next)
	}
}

func TestRunsOfWords(t *testing.T) {
	e := embedded(t, messagePages)
	for text, want := range map[string]bool{
		"`leader` stepped: down":                      true,  // marks between words do not matter
		"log: leader stepped down while (4 times)":    true,  // a part of it
		"writing while down, stepped leader":          false, // another order
		"leader":                                      false, // one word is no run
		"recovery: leader stepped down while writing": true,
		"recovery": false,
	} {
		page, err := e.Search(context.Background(), Query{Text: text, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		got := false
		for _, hit := range page.Hits {
			got = got || hit.Path == "recovery.md" && hit.Evidence.Verbatim > 0
		}
		if got != want {
			t.Errorf("%q: recovery.md has words of it in one piece: %v, want %v", text, got, want)
		}
	}
}

func TestAQuestionThatATitleNamesIsNotTakenWordForWord(t *testing.T) {
	pages := map[string]string{"shutdown.md": "# Planned shutdown of nodes\n\nNobody signs in meanwhile.\n"}
	for name, text := range messagePages {
		pages[name] = text
	}
	pages["recovery.md"] += "\nRead about the planned shutdown of nodes, too.\n"
	page, err := embedded(t, pages).Search(context.Background(), Query{Text: "planned shutdown of nodes", Explain: true})
	if err != nil || len(page.Hits) == 0 {
		t.Fatalf("%+v, %v", page, err)
	}
	for _, hit := range page.Hits {
		if hit.Evidence.Verbatim != 0 {
			t.Errorf("%s has %g word for word, want 0: it refers to the page with this title", hit.Path, hit.Evidence.Verbatim)
		}
	}
}
