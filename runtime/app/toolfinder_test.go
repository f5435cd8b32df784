package app

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/gateway"
)

func TestToolFinderRanksByNameMeaningAndValues(t *testing.T) {
	tool := func(upstream, name, description string, values ...string) gateway.Described {
		return gateway.Described{Name: upstream + "_" + name, Upstream: upstream, Tool: name, Description: description, Values: values}
	}
	f, err := NewToolFinder([]gateway.Described{
		tool("github", "create_issue", "Create a new issue in a GitHub repository"),
		tool("gitlab", "create_issue", "Create a new issue in a GitLab project"),
		tool("maps", "maps_directions", "Get directions between two points", "driving", "walking"),
		tool("files", "readTextFile", "Read the complete contents of a file"),
		tool("slack", "post_message", "Post a new message to a Slack channel"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct{ need, upstream, want string }{
		{"report a bug on github", "", "github_create_issue"},
		{"create an issue", "gitlab", "gitlab_create_issue"},
		{"walking to the station", "", "maps_maps_directions"},
		{"read text file", "", "files_readTextFile"},
		{"slack_post_mesage", "", "slack_post_message"},
	} {
		got, err := f.Find(t.Context(), c.need, c.upstream, 3)
		if err != nil || len(got) == 0 || got[0] != c.want {
			t.Errorf("Find(%q, %q) = %v, %v; want %s first", c.need, c.upstream, got, err, c.want)
		}
	}
}
