package chunker_test

import (
	"fmt"

	"github.com/deskhand/deskhand/chunker"
)

func ExampleSplit() {
	page := chunker.Split("guides/retries.md", []byte(`# Retries

Calls are tried again.

## Backoff

The client waits longer each time.

## Limits

Five attempts at most.
`), chunker.Options{})
	fmt.Println(page.Title)
	for _, c := range page.Chunks {
		fmt.Printf("%s, lines %d to %d: %s\n", c.ID, c.StartLine, c.EndLine, c.Breadcrumb)
	}
	// Output:
	// Retries
	// guides/retries.md#_preamble, lines 1 to 4: Retries
	// guides/retries.md#retries/backoff, lines 5 to 8: Retries > Backoff
	// guides/retries.md#retries/limits, lines 9 to 11: Retries > Limits
}

// A file may say in its front matter what it is about and where to cut it. What
// cannot be read as meant is a Problem, and the rest of the file still counts.
func ExampleSplit_frontMatter() {
	page := chunker.Split("sdk/auth.md", []byte(`---
title: Signing in
metadata:
  language: go
mcp_chunking_hint:
  chunk_by: h9
---
# Auth
`), chunker.Options{})
	fmt.Println(page.Title, page.Metadata["language"])
	for _, p := range page.Problems {
		fmt.Println(p.Line, p.Reason)
	}
	// Output:
	// Signing in go
	// 6 chunk_by "h9" is not h1, h2, h3 or file and is ignored
}

func ExampleParseID() {
	path, fragment, err := chunker.ParseID("guides/retries.md#retries/backoff")
	fmt.Println(path, fragment, err)
	// Output: guides/retries.md retries/backoff <nil>
}
