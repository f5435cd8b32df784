package search_test

import (
	"context"
	"fmt"
	"log"

	"github.com/deskhand/deskhand/runtime/search"
)

// Short texts are searched without an index on disk. Open does the same for one
// that deskhand index has made.
func ExampleOverTexts() {
	engine, err := search.OverTexts([]search.Text{
		{Path: "retries", Heading: "Retries", Body: "The client waits longer before each attempt."},
		{Path: "auth", Heading: "Signing in", Body: "Requests carry a key in a header."},
		{Path: "limits", Heading: "Rate limits", Body: "More than 100 requests a minute are refused."},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	page, err := engine.Search(context.Background(), search.Query{Text: "requests per minute", Limit: 2})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range page.Hits {
		fmt.Printf("%s: %s\n", hit.ID, hit.Snippet)
	}
	// Output:
	// limits: More than 100 **requests** a **minute** are refused.
	// auth: **Requests** carry a key in a header.
}

// Filters hold values of facets; a hit has all of them.
func ExampleEngine_Search_filters() {
	engine, err := search.OverTexts([]search.Text{
		{Path: "go/client", Heading: "Client", Body: "How to make a client.", Facets: map[string]string{"language": "go"}},
		{Path: "python/client", Heading: "Client", Body: "How to make a client.", Facets: map[string]string{"language": "python"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	page, err := engine.Search(context.Background(), search.Query{Text: "make a client", Filters: map[string]string{"language": "python"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range page.Hits {
		fmt.Println(hit.ID, hit.Metadata["language"])
	}
	// Output: python/client python
}
