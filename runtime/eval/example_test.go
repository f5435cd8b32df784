package eval_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/search"
)

// An engine is asked the queries of a file, and scored by where the expected
// pages come.
func ExampleRun() {
	engine, err := search.OverTexts([]search.Text{
		{Path: "retries.md", Heading: "Retries", Body: "The client waits longer before each attempt."},
		{Path: "auth.md", Heading: "Signing in", Body: "Requests carry a key in a header."},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	dir, err := os.MkdirTemp("", "eval")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cases := filepath.Join(dir, "cases.json")
	err = os.WriteFile(cases, []byte(`[
  {"name": "key", "query": "key in a header", "expected": [{"filepath": "auth.md"}]},
  {"name": "wait", "query": "how long does it wait", "expected": [{"filepath": "retries.md"}]},
  {"name": "gone", "query": "delete an account", "expected": [{"filepath": "accounts.md"}]}]`), 0o600)
	if err != nil {
		log.Fatal(err)
	}
	loaded, _, err := eval.Load(cases)
	if err != nil {
		log.Fatal(err)
	}
	report, err := eval.Run(context.Background(), eval.Local{Engine: engine}, loaded, eval.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range report.Cases {
		fmt.Printf("%-5s %.2f\n", c.Name, c.NDCG)
	}
	fmt.Printf("NDCG@%d of %d queries: %.2f\n", report.K, report.Summary.Cases, report.Summary.NDCG)
	// Output:
	// key   1.00
	// wait  1.00
	// gone  0.00
	// NDCG@5 of 3 queries: 0.67
}
