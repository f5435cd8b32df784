package chunker

import "testing"

func TestStrategyOfTheFileWins(t *testing.T) {
	const body = "# A\n\n## B\n\n### C\n\ntext\n"
	hint := func(by string) string { return `<!-- mcp_chunking_hint: {"chunk_by":"` + by + `"} -->` + "\n" }
	front := func(yaml string) string { return "---\n" + yaml + "\n---\n" }
	const atH1, atH2, atH3, file = "a", "_preamble a/b", "_preamble a/b/c", "."
	for name, c := range map[string]struct {
		opts      Options
		src, want string
	}{
		"options":                          {Options{By: H1}, body, atH1},
		"hint over options":                {Options{By: H2}, hint("h3") + body, atH3},
		"front matter over the hint":       {Options{By: H2}, front("mcp_chunking_hint: h1") + hint("h3") + body, "_preamble a"},
		"front matter hint as a mapping":   {Options{}, front("mcp_chunking_hint: {chunk_by: file}") + body, file},
		"strategy over front matter hint":  {Options{}, front("mcp_chunking_hint: h1\nmcp_strategy: {chunk_by: file}") + body, file},
		"strategy without chunk_by":        {Options{By: H3}, front("mcp_strategy: {max_chunk_size: 500}") + body, atH3},
		"strategy replaces the sizes":      {Options{By: H1, MaxChars: 5}, front("mcp_strategy: {chunk_by: h1}") + body, atH1},
		"strategy sets the maximum":        {Options{By: H1}, front("mcp_strategy: {chunk_by: h1, max_chunk_size: 8}") + body, "a a/b a/b/c a/b/c-part-2"},
		"strategy sets the minimum":        {Options{By: H1}, front("mcp_strategy: {chunk_by: h1, max_chunk_size: 8, min_chunk_size: 7}") + body, "a a/b a/b/c"},
		"sizes without bounds":             {Options{}, front("mcp_strategy: {chunk_by: h1, max_chunk_size: 9223372036854775807, min_chunk_size: 9223372036854775807}") + body, atH1},
		"first hint only":                  {Options{}, body + hint("h3") + hint("h1"), atH3},
		"hint over several lines, in code": {Options{}, body + "```\n<!--\n mcp_chunking_hint:\n{ \"chunk_by\" : \"h3\" }\n-->\n```\n", atH3},
		"the name alone is no hint":        {Options{}, body + "mcp_chunking_hint: {\"chunk_by\":\"h1\"}\n\n" + hint("h3"), atH3},
		"unknown in options":               {Options{By: "h9"}, body, atH2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ids(t, c.src, c.opts); got != c.want {
				t.Errorf("IDs of %q with %+v = %s, want %s", c.src, c.opts, got, c.want)
			}
			if page := split(t, c.src, c.opts); len(page.Problems) > 0 {
				t.Errorf("problems = %q, want none", problems(page))
			}
		})
	}
}

func TestBadStrategyIsAProblemAndIgnored(t *testing.T) {
	const unknown = " is not h1, h2, h3 or file and is ignored\n"
	const malformed = "the chunking hint is not {\"chunk_by\":\"h1|h2|h3|file\"} and is ignored\n"
	for name, c := range map[string]struct{ src, want string }{
		"hint, unknown":      {"\n<!-- mcp_chunking_hint: {\"chunk_by\":\"h4\"} -->\n", "2: chunk_by \"h4\"" + unknown},
		"hint, not JSON":     {"a\n\n<!-- mcp_chunking_hint: h3 -->\n", "3: " + malformed},
		"hint, wrong type":   {"<!-- mcp_chunking_hint: {\"chunk_by\":3} -->\n", "1: " + malformed},
		"hint, not closed":   {"```\n<!-- mcp_chunking_hint: {\"chunk_by\":\"h3\"}\n```\n", "2: " + malformed},
		"hint, no second":    {"<!-- mcp_chunking_hint: x -->\n<!-- mcp_chunking_hint: {\"chunk_by\":\"h1\"} -->\n", "1: " + malformed},
		"front matter hint":  {"---\nmcp_chunking_hint: h4\n---\n", "2: chunk_by \"h4\"" + unknown},
		"front matter, list": {"---\nmcp_chunking_hint: [h3]\n---\n", "2: chunk_by \"\"" + unknown},
		"strategy":           {"---\nmcp_strategy: h3\n---\n", "2: mcp_strategy is not a list of key: value pairs and is ignored\n"},
		"strategy, unknown":  {"---\nmcp_strategy:\n  chunk_by: H3\n---\n", "3: chunk_by \"H3\"" + unknown},
		"strategy, sizes": {
			"---\nmcp_strategy:\n  max_chunk_size: 0\n  min_chunk_size: 1.5\n---\n",
			"3: max_chunk_size \"0\" is not a positive integer and is ignored\n4: min_chunk_size \"1.5\" is not a positive integer and is ignored\n",
		},
		"strategy, misspelt": {"---\nmcp_strategy: {chunkby: h3}\n---\n", "2: mcp_strategy has the unknown key \"chunkby\"; its keys are chunk_by, max_chunk_size and min_chunk_size\n"},
	} {
		t.Run(name, func(t *testing.T) {
			src := c.src + "# A\n\n## B\n\n### C\n"
			page := split(t, src, Options{By: H2})
			if got := problems(page); got != c.want {
				t.Errorf("problems of %q = %q, want %q", src, got, c.want)
			}
			if last := page.Chunks[len(page.Chunks)-1].ID; last != "p.md#a/b" {
				t.Errorf("last chunk = %q, want p.md#a/b", last)
			}
		})
	}
}
