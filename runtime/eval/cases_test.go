package eval

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadReadsEveryForm(t *testing.T) {
	got, warnings, err := Load(write(t, "cases.json", "\ufeff"+`[
		{"name": "knots", "category": "how-to", "query": "tie a boat", "filters": {"language": "en"}, "expected": [
			{"filepath": "./rope.md", "heading": "Knots", "grade": 3, "heading_path": ["Rope", "Knots"], "subtree": true, "same": 1},
			{"filepath": "rope.md", "heading": "", "grade": 1}]},
		{"name": "tide", "query": "when is low water", "filters": {}, "expected": [
			{"filepath": "tide.md", "alt_filepaths": ["old/tide.md"], "heading_slug": "low-water"},
			{"filepath": "tide.md", "contains": "every 12 hours", "grade": null}]},
		{"query": "find the anchor", "expectedChunkId": "anchor.md#find", "maxRounds": 2, "limit": 7},
		{"name": "alias", "query": "weigh the anchor", "expected_chunk_id": "anchor.md#weigh"},
		{"name": "chunks", "query": "drop the anchor", "expected": [{"chunk_id": "anchor.md#drop", "grade": 2.0}]}
	]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Case{
		{Name: "knots", Category: "how-to", Query: "tie a boat", Filters: map[string]string{"language": "en"}, Good: 2, Expected: []Entry{
			{Filepath: "rope.md", HasHeading: true, Heading: "Knots", Grade: 3, HeadingPath: []string{"Rope", "Knots"}, Subtree: true, Same: 1},
			{Filepath: "rope.md", HasHeading: true, Grade: 1}}},
		{Name: "tide", Category: "other", Query: "when is low water", Good: 1, Expected: []Entry{
			{Filepath: "tide.md", AltFilepaths: []string{"old/tide.md"}, Slug: "low-water", Grade: 1},
			{Filepath: "tide.md", Contains: "every 12 hours", Grade: 1}}},
		{Name: "find the anchor", Category: "other", Query: "find the anchor", Limit: 7, MaxRounds: 2, Good: 1, Expected: []Entry{
			{ChunkID: "anchor.md#find", Grade: 1}}},
		{Name: "alias", Category: "other", Query: "weigh the anchor", Limit: 5, MaxRounds: 3, Good: 1, Expected: []Entry{
			{ChunkID: "anchor.md#weigh", Grade: 1}}},
		{Name: "chunks", Category: "other", Query: "drop the anchor", Good: 2, Expected: []Entry{
			{ChunkID: "anchor.md#drop", Grade: 2}}},
	}
	for i := range want {
		if i >= len(got) || !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("case %d = %+v, want %+v", i+1, got[min(i, len(got)-1)], want[i])
		}
	}
	if len(warnings) > 0 {
		t.Errorf("warnings = %q, want none", warnings)
	}
}

func TestLoadReadsSeveralFiles(t *testing.T) {
	a := write(t, "a.json", `[{"name": "n", "query": "a", "expected": [{"filepath": "a.md"}]}]`)
	b := write(t, "b.json", `{"cases": [{"name": "n", "query": "b", "expected": [{"filepath": "a.md"}]}]}`)
	got, warnings, err := Load(a, b)
	if err != nil || len(got) != 2 || got[1].Name != "n #2" {
		t.Fatalf("Load = %+v, %v; want two cases, the second called %q", got, err, "n #2")
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], `b.json: case 1 "n": duplicate name`) {
		t.Errorf("warnings = %q, want one that names file, case and name", warnings)
	}
}

func TestLoadWarnsOfWhatLooksUnintended(t *testing.T) {
	_, warnings, err := Load(write(t, "c.json", `[
		{"name": "a", "query": "a", "querry": "b", "expected": [{"filepath": "a.md", "haeding": "A"}]},
		{"name": "b", "query": "a", "querry": "b", "expected": [{"filepath": "a.md", "grade": 1}]},
		{"name": "c", "query": "a", "expected": [{"filepath": "a.md", "heading": "x", "contains": "y"}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(warnings, "\n")
	for _, want := range []string{
		`case 1 "a": the field "querry" has no effect (found 2 times)`,
		`case 1 "a": the field "expected.haeding" has no effect (found 1 times)`,
		`case 2 "b": its best grade is 1`,
		`case 3 "c": the field "expected.contains or .heading_slug combined with .heading" has no effect`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("warnings lack %q:\n%s", want, all)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	one := func(fields string) string { return `[{"name": "n", "query": "q", ` + fields + `}]` }
	entry := func(fields string) string { return one(`"expected": [{` + fields + `}]`) }
	for name, test := range map[string]struct{ content, want string }{
		"nothing":               {"", "line 1 is not JSON"},
		"no JSON":               {"- query: tides\n", "line 1 is not JSON"},
		"a broken line":         {"[\n{\"query\": \"a\",\n\"expected\" [}]", "line 3 is not JSON"},
		"lines of JSON":         {"{\"query\": \"a\"}\n{\"query\": \"b\"}\n", "line 2 is not JSON"},
		"deep nesting":          {strings.Repeat("[", 1e5), "is not JSON"},
		"a string":              {`"cases"`, "contains no list of cases"},
		"cases of another type": {`{"cases": 3}`, "contains no list of cases"},
		"no cases":              {"[]", "has no cases"},
		"no list":               {"{}", "has no cases"},
		"a case that is a list": {"[[]]", "case 1: is not a JSON object"},
		"a null case":           {"[null]", "case 1: is not a JSON object"},
		"no query":              {`[{"name": "n", "expected": [{"filepath": "a.md"}]}]`, `case 1 "n": has no query`},
		"blank query":           {`[{"query": " ", "expected": [{"filepath": "a.md"}]}]`, "has no query"},
		"query of numbers":      {`[{"query": 3, "expected": [{"filepath": "a.md"}]}]`, "has an invalid query: it must be a string, not 3"},
		"nothing expected":      {one(`"category": "c"`), "has no expected entries"},
		"an empty list":         {one(`"expected": []`), "has no expected entries"},
		"an object":             {one(`"expected": {}`), "has an invalid expected: it must be a list of entries"},
		"both forms":            {one(`"expected": [{"filepath": "a"}], "expectedChunkId": "a#b"`), "keep one"},
		"a list filter":         {one(`"filters": {"a": ["b"]}, "expectedChunkId": "a#b"`), "has an invalid filters"},
		"an empty filter":       {one(`"filters": {"a": null}, "expectedChunkId": "a#b"`), `filters by "a" = ""`},
		"no pages":              {one(`"maxRounds": 0, "expectedChunkId": "a#b"`), "has an invalid maxRounds: it must be an integer from 1 to 100, not 0"},
		"endless pages":         {one(`"maxRounds": 1e300, "expectedChunkId": "a#b"`), "has an invalid maxRounds"},
		"a large page":          {one(`"limit": 51, "expectedChunkId": "a#b"`), "has an invalid limit"},
		"grade 4":               {entry(`"filepath": "a.md", "grade": 4`), "expected entry 1 has an invalid grade: it must be an integer from 0 to 3, not 4"},
		"grade -1":              {entry(`"filepath": "a.md", "grade": -1`), "invalid grade"},
		"half a grade":          {entry(`"filepath": "a.md", "grade": 1.5`), "invalid grade"},
		"a grade in words":      {entry(`"filepath": "a.md", "grade": "high"`), "invalid grade"},
		"no place":              {entry(`"heading": "A"`), "expected entry 1 has no place"},
		"two places":            {entry(`"filepath": "a.md", "chunk_id": "a.md#b"`), "has both a chunk and a file"},
		"an empty other file":   {entry(`"filepath": "a.md", "alt_filepaths": [null]`), "empty path in alt_filepaths"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Load(write(t, "cases.json", test.content))
			f := fault.Of(err)
			if f == nil || !strings.Contains(f.Message, test.want) || !strings.Contains(f.Message, "cases.json") || f.Hint == "" {
				t.Errorf("Load(%.80q) = %v; want a fault with a hint that names the file and says %q", test.content, err, test.want)
			}
		})
	}
}

func TestLoadSaysHowMuchMoreIsWrong(t *testing.T) {
	_, _, err := Load(write(t, "cases.json", `[{"query": ""}, {"query": "a", "expectedChunkId": "b"}, {"name": "x", "query": "c"}, {}]`))
	if f := fault.Of(err); f == nil || !strings.Contains(f.Hint, "2 more of the 4 cases") || !strings.Contains(f.Hint, `case 3 "x": has no expected entries`) {
		t.Errorf("Load = %+v; want a hint with the number of bad cases and the next one", fault.Of(err))
	}
}

func TestLoadNeedsTheFile(t *testing.T) {
	_, _, err := Load(filepath.Join(t.TempDir(), "none.json"))
	if f := fault.Of(err); f == nil || f.Code != "no_cases" {
		t.Errorf("Load of a missing file = %v, want fault no_cases", err)
	}
	if _, _, err := Load(t.TempDir()); err == nil {
		t.Error("Load of a folder succeeded")
	}
}

// Whatever the bytes, Load returns cases that can be judged or an error.
func FuzzLoadCases(f *testing.F) {
	f.Add([]byte(`[{"name": "a", "query": "q", "filters": {"l": "go"}, "expected": [{"filepath": "a.md", "heading": "A", "heading_path": ["B", "A"], "grade": 3, "same": 1}]}]`))
	f.Add([]byte(`{"cases": [{"query": "q", "expectedChunkId": "a.md#b", "maxRounds": 3, "limit": 5}]}`))
	f.Add([]byte(`[{"query": "q", "expected": [{"filepath": "/./a.md", "heading_slug": "b-2", "alt_filepaths": ["x"]}, {"chunk_id": "#"}]}]`))
	f.Add([]byte("[{\"query\": \"\\u0000\", \"expected\": [{\"filepath\": \"a\", \"contains\": \"\xff\"}]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := loader{names: map[string]int{}, unknown: map[string]*mention{}}
		if err := l.file("fuzz.json", data); err != nil {
			return
		}
		l.allWarnings()
		seen := map[string]bool{}
		for _, c := range l.cases {
			if c.Name == "" || seen[c.Name] || c.Query == "" || c.Category == "" || len(c.Expected) == 0 {
				t.Fatalf("Load(%q) gave case %+v, which cannot be judged by name", data, c)
			}
			seen[c.Name] = true
			var r CaseResult
			j := newJudge(c, Options{}.withDefaults())
			for _, e := range c.Expected {
				path := e.files()[0]
				j.add([]Hit{{ID: path + "#" + e.Slug, Path: path, Heading: e.Heading}}, func(string) string { return e.Contains })
			}
			j.fill(&r)
			if !(r.NDCG >= 0 && r.NDCG <= 1+1e-12) {
				t.Fatalf("case %+v scored %v, want 0 to 1", c, r.NDCG)
			}
		}
	})
}
