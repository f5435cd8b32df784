package search

import (
	"fmt"
	"slices"
	"testing"
)

// shelf are texts as tools have them.
var shelf = []Text{
	{Path: "github/create_issue", Heading: "create issue", Body: "Create a new issue in a GitHub repository.", Facets: map[string]string{"upstream": "github"}},
	{Path: "gitlab/create_issue", Heading: "create issue", Body: "Create a new issue in a GitLab project.", Facets: map[string]string{"upstream": "gitlab"}},
	{Path: "maps/directions", Heading: "directions", Body: "Get directions between two points, driving or walking.", Facets: map[string]string{"upstream": "maps"}},
	{Path: "slack/post_message", Heading: "post message", Body: "Post a new message to a Slack channel.", Facets: map[string]string{"upstream": "slack"}},
}

func TestOverTextsRanksByWordsAndByMeaning(t *testing.T) {
	e, err := OverTexts(shelf)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, c := range map[string]struct {
		query   string
		filters map[string]string
		want    string
	}{
		"by the words of its name":    {"create_issue gitlab", nil, "gitlab/create_issue"},
		"by a word that is misspelt":  {"slack mesage", nil, "slack/post_message"},
		"by meaning, without a word":  {"how do I drive there by car", nil, "maps/directions"},
		"by a facet that is filtered": {"create an issue", map[string]string{"upstream": "gitlab"}, "gitlab/create_issue"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(t, e, Query{Text: c.query, Filters: c.filters}); len(got) == 0 || got[0] != c.want {
				t.Errorf("Search(%q, %v) = %v, want %s first", c.query, c.filters, got, c.want)
			}
		})
	}
	if got := ask(t, e, Query{Text: "create an issue", Filters: map[string]string{"upstream": "gitlab"}}); !slices.Equal(got, []string{"gitlab/create_issue"}) {
		t.Errorf("filtered by gitlab = %v, want its tool only", got)
	}
	if changed, err := e.Reload(); changed || err != nil {
		t.Errorf("Reload = %v, %v; want nothing, there is no folder", changed, err)
	}
}

func TestOverTextsOfNothingFindsNothing(t *testing.T) {
	e, err := OverTexts(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if got := ask(t, e, Query{Text: "anything"}); len(got) != 0 {
		t.Errorf("Search = %v, want nothing", got)
	}
}

func BenchmarkOverTexts(b *testing.B) {
	var texts []Text
	for i := range 300 {
		one := shelf[i%len(shelf)]
		one.Path = fmt.Sprintf("%s_%d", one.Path, i)
		texts = append(texts, one)
	}
	b.ReportAllocs()
	for b.Loop() {
		e, err := OverTexts(texts)
		if err != nil {
			b.Fatal(err)
		}
		e.Close()
	}
}
