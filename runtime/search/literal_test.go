package search

import (
	"context"
	"testing"
)

func TestLiteral(t *testing.T) {
	for query, want := range map[string]bool{
		"backup retention":                                     false,
		"keep backups for longer":                              false,
		"how do I keep old backups?":                           false,
		"--retention of backups-v2.tar":                        true, // half are names
		"Error: ENOENT open '/srv/index'":                      true,
		"which flag keeps old backups, is it --retention":      false,
		`where does it say "no such index" in the log`:         true,
		"how long are backups kept; retention, delete backups": false,
		"how long are backups kept: retention of old backups":  true,
		"the server failed to open its list":                   true, // an error
		"TypeError while the list is being read":               true,
		"what does it mean that the server failed":             false,
		"the server failed, what now?":                         false,
		"日本語の質問":                                               false, // without spaces, each character is a word
	} {
		if got := literal(query); got != want {
			t.Errorf("literal(%q) = %t, want %t", query, got, want)
		}
	}
}

// The hits of these searches must be those of a search without a ranker.
func TestTheRankerLeavesLiteralAndFoundQuestionsAlone(t *testing.T) {
	e := embedded(t, flagPages)
	for _, q := range []Query{
		{Text: "--listen --verbose which address"},
		{Text: `what does "old backups" mean here`},
		{Text: "which address does the program use: the server listens, proxy"},
		{Text: "which users"}, // words find it
	} {
		q.Explain = true
		page, err := e.Search(context.Background(), q)
		if err != nil || len(page.Hits) == 0 {
			t.Fatalf("%q: %+v, %v", q.Text, page, err)
		}
		if why := page.Hits[0].Evidence; why.Learnt != nil || why.Row != 0 {
			t.Errorf("%q: the ranker ordered the hits: %+v", q.Text, why)
		}
	}
}
