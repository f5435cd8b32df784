package searchpage

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// desk has a page over two tools that record their calls.
type desk struct {
	page  *Page
	calls []string
	// The tools' answers.
	search, text, doc string
	refusal           error
	half              bool // whether the last question was half typed
}

const input = `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"},"cursor":{"type":"string"},
	"part":{"type":"string","description":"Part of the manual.","enum":["guide","reference"]},"chapter":{"type":"string","enum":["one"]}}}`

func newDesk() *desk {
	d := &desk{search: `{"hits":[],"next_cursor":null,"hint":null}`, doc: `{}`}
	tool := func(name string, answer func() contract.Result) contract.Tool {
		return contract.Tool{Name: name, Description: "Search the acme docs.", Input: json.RawMessage(input),
			Call: func(_ context.Context, _ contract.Caller, args json.RawMessage) (contract.Result, error) {
				d.calls = append(d.calls, name+string(args))
				return answer(), d.refusal
			}}
	}
	d.page = New(Options{Shell: page.New([]byte("key")), Name: "acme", Tools: func(half bool) (search, read contract.Tool) {
		d.half = half
		return tool("search_docs", func() contract.Result { return contract.Result{Structured: json.RawMessage(d.search)} }),
			tool("get_doc", func() contract.Result {
				return contract.Result{Text: []string{d.text}, Structured: json.RawMessage(d.doc)}
			})
	}})
	return d
}

func (d *desk) get(query string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:20310/search"+query, nil))
	return w
}

func wants(t *testing.T, what, body string, phrases ...string) {
	t.Helper()
	for _, phrase := range phrases {
		if !strings.Contains(body, phrase) {
			t.Errorf("%s does not have %q:\n%s", what, phrase, body)
		}
	}
}

const oneHit = `{"hits":[{"chunk_id":"a.md#x/y","score":0.5,"heading":"How <b>it</b> works","breadcrumb":"A > X","snippet":"a **copy** of <script>","filepath":"a.md",
	"metadata":{"part":"guide"},"title":"A","lines":"3-9","variants":{"part":["reference"]},"why":{"words":1,"meaning":0.25,"near":0,"path":0.5,"weights":{"words":0.48,"meaning":0.35,"near":0.085,"path":0.085,"verbatim":0.2}}}],"next_cursor":"abc","hint":null}`

func TestAnEmptyPageOffersTheMenusAndTheSetups(t *testing.T) {
	d := newDesk()
	w := d.get("")
	if w.Code != http.StatusOK || len(d.calls) > 0 {
		t.Fatalf("GET /search = %d after calls %v, want 200 and none", w.Code, d.calls)
	}
	wants(t, "the page", w.Body.String(),
		`<form method="get" action="/search" role="search"`, `<label for="facet-part">part</label>`, `<option>reference</option>`, `title="Part of the manual."`,
		"claude mcp add --transport http acme http://127.0.0.1:20310/mcp", "Search the acme docs.")
	if strings.Index(w.Body.String(), "facet-chapter") > strings.Index(w.Body.String(), "facet-part") {
		t.Error("the menus are not in the order of their names")
	}
}

func TestASearchIsTheCallOfAnAgent(t *testing.T) {
	for query, want := range map[string]string{
		"?q=+copy+it+":                            `search_docs{"query":"copy it"}`,
		"?q=copy&part=guide&chapter=&limit=10":    `search_docs{"query":"copy","part":"guide"}`,
		"?q=copy&limit=50&cursor=abc":             `search_docs{"query":"copy","limit":50,"cursor":"abc"}`,
		"?q=copy&limit=many&colour=red":           `search_docs{"query":"copy"}`,
		"?q=" + url.QueryEscape(`a "b" <c>`):      `search_docs{"query":"a \"b\" <c>"}`,
		"?read=a.md%23x":                          `get_doc{"chunk_id":"a.md#x","context":1}`,
		"?read=a.md%23x&around=0":                 `get_doc{"chunk_id":"a.md#x"}`,
		"?read=a.md":                              `get_doc{"chunk_id":"a.md"}`,
		"?read=a.md%23x&around=3&part=of-nothing": `get_doc{"chunk_id":"a.md#x","context":3}`,
	} {
		d := newDesk()
		w := d.get(query)
		if w.Code != http.StatusOK || strings.Join(d.calls, " ") != want {
			t.Errorf("GET /search%s = %d after %v, want 200 after %s", query, w.Code, d.calls, want)
		}
	}
}

func TestHitsSayWhyAndAreShownAsText(t *testing.T) {
	d := newDesk()
	d.search = oneHit
	body := d.get("?q=copy&part=guide").Body.String()
	wants(t, "the page", body,
		"How &lt;b&gt;it&lt;/b&gt; works", "<strong>copy</strong> of &lt;script&gt;", "a.md:3-9", "part: guide", "0.500",
		`<meter min="0" max="1" value="0.25" aria-label="meaning">0.25</meter> 0.25 × 0.35`, "The score is the sum of the parts", "part: reference", `<option selected>guide</option>`,
		"/search?part=guide&amp;q=copy&amp;read=a.md%23x%2Fy#reading", "cursor=abc", "after=1",
		"&#34;name&#34;: &#34;search_docs&#34;", "&#34;query&#34;: &#34;copy&#34;")
	if strings.Contains(body, "<script>") || strings.Contains(body, " style=") {
		t.Errorf("the page has a script or style in it:\n%s", body)
	}
	wants(t, "the next page", d.get("?q=copy&cursor=abc&after=1").Body.String(), `value="2"`, "First hits")
}

func TestASectionIsReadWithItsNeighbours(t *testing.T) {
	d := newDesk()
	d.doc = `{"filepath":"a.md","title":"A","chunks":[{"chunk_id":"a.md#w","position":1,"total":3,"target":false,"lines":"1-2"},
		{"chunk_id":"a.md#x","position":2,"total":3,"target":true,"lines":"3-9"}],"next":"a.md#z"}`
	d.text = "--- Chunk: a.md#w (Chunk 1 of 3) (Context: -1) ---\n## Before\n\n--- Chunk: a.md#x (Chunk 2 of 3) (Target) ---\nIt is <em>so</em>.\n\\--- Chunk: not (Chunk 1 of 1) (Target) ---"
	body := d.get("?q=copy&read=a.md%23x&around=2").Body.String()
	wants(t, "the page", body, "<strong>Before</strong>", "It is &lt;em&gt;so&lt;/em&gt;.", "<br>--- Chunk: not (Chunk 1 of 1)", "section 2 of 3",
		"around=3&amp;q=copy&amp;read=a.md%23x#reading", "around=0&amp;", "read=a.md%23w#reading", "read=a.md%23z#reading", "The whole page")
	if n := strings.Count(body, `class="part`); n != 2 {
		t.Errorf("the page has %d sections, want 2", n)
	}
}

func TestARefusalIsWordedAndTheFormStays(t *testing.T) {
	d := newDesk()
	d.refusal = fault.New("invalid_argument", "Invalid taxonomy value for 'part': 'song'.", "Use guide or reference.")
	w := d.get("?q=copy&part=song")
	if w.Code != http.StatusBadRequest {
		t.Errorf("GET with a facet that is not there = %d, want 400", w.Code)
	}
	wants(t, "the page", w.Body.String(), "Invalid taxonomy value for &#39;part&#39;", "Use guide or reference.", `value="copy"`, `role="alert"`)
	if d.refusal = context.DeadlineExceeded; d.get("?q=copy").Code != http.StatusInternalServerError {
		t.Error("an error that is nobody's fault is not answered with 500")
	}
}

func TestNothingFoundLeadsOn(t *testing.T) {
	d := newDesk()
	d.search = `{"hits":[],"next_cursor":null,"hint":{"message":"No results with part=guide.","suggested_filters":{"part":["reference"]}}}`
	wants(t, "the page", d.get("?q=copy&part=guide").Body.String(), "Nothing found", "No results with part=guide.", "/search?part=reference&amp;q=copy")
}

// What was half typed is no question yet: only the hits are sent, and nothing is recorded.
func TestAQuestionThatIsHalfTypedGetsOnlyTheHits(t *testing.T) {
	d := newDesk()
	d.search = oneHit
	r := httptest.NewRequest(http.MethodGet, "/search?q=cop&part=guide", nil)
	r.Header.Set("Deskhand-Part", "1")
	w := httptest.NewRecorder()
	d.page.ServeHTTP(w, r)
	wants(t, "the part", w.Body.String(), "1 hit", "a.md:3-9", "&#34;query&#34;: &#34;cop&#34;")
	if body := w.Body.String(); strings.Contains(body, "<form") || strings.Contains(body, "<html") || !d.half {
		t.Errorf("more than the hits, or recorded (%v):\n%s", !d.half, body)
	}
	if d.get("?q=copy"); d.half {
		t.Error("a whole question counts as half typed")
	}
}

func TestHitsOfOnePageStandTogether(t *testing.T) {
	d := newDesk()
	d.search = `{"hits":[{"chunk_id":"a.md#x","heading":"Usage","breadcrumb":"Volumes > Usage","filepath":"a.md"},{"chunk_id":"b.md#y","heading":"Other","breadcrumb":"B > Other","filepath":"b.md"},
		{"chunk_id":"a.md#z","heading":"Usage","breadcrumb":"Volumes > Resize > Usage","filepath":"a.md","why":{"words":1}}]}`
	body := d.get("?q=copy").Body.String()
	first, second, third := strings.Index(body, `class="sheet hit" value="1"`), strings.Index(body, `class="sheet hit same" value="3"`), strings.Index(body, `class="sheet hit" value="2"`)
	if first < 0 || second < first || third < second {
		t.Errorf("the hits are at %d, %d and %d", first, second, third)
	}
	wants(t, "the page", body, `<span class="above">Volumes › </span>Usage</a>`, `<span class="above hide">Volumes › </span><span class="above">Resize › </span>Usage</a>`)
}

func TestTheEmptyPageTellsOfTheCorpus(t *testing.T) {
	d := newDesk()
	d.page.options.Corpus = func() Corpus {
		return Corpus{"992 pages, 1,774 sections", "22 November 2026", []string{"pay & go", "b", "c", "d", "e", "f"}}
	}
	body := d.get("").Body.String()
	wants(t, "the page", body, "992 pages, 1,774 sections, indexed 22 November 2026.", `href="/search?q=pay&#43;%26&#43;go" dir="auto">pay &amp; go</a>`)
	if strings.Contains(body, "/search?q=f") {
		t.Error("more than five examples")
	}
	if strings.Contains(d.get("?q=copy").Body.String(), "992 pages") {
		t.Error("the corpus is told beside hits")
	}
}

// Who finds the answer at a place far down copies a case for deskhand eval, which reads it.
func TestAnAnswerThatIsReadIsACaseForEval(t *testing.T) {
	d := newDesk()
	d.doc = `{"filepath":"a.md","title":"A","chunks":[]}`
	for read, want := range map[string]eval.Entry{"a.md#x": {ChunkID: "a.md#x", Grade: 3}, "a.md": {Filepath: "a.md", Grade: 3}} {
		body := d.get("?q=" + url.QueryEscape(`how to "copy"`) + "&part=guide&read=" + url.QueryEscape(read)).Body.String()
		_, after, _ := strings.Cut(body, "deskhand eval</code>")
		_, after, _ = strings.Cut(after, "<code>")
		text, _, _ := strings.Cut(after, "</code>")
		file := filepath.Join(t.TempDir(), "cases.json")
		if err := os.WriteFile(file, []byte("["+html.UnescapeString(text)+"]"), 0o600); err != nil {
			t.Fatal(err)
		}
		cases, warnings, err := eval.Load(file)
		if err != nil || len(warnings) > 0 || len(cases) != 1 {
			t.Fatalf("%s: %v, %v, %v", text, cases, warnings, err)
		}
		if c := cases[0]; c.Query != `how to "copy"` || c.Filters["part"] != "guide" || len(c.Expected) != 1 || !reflect.DeepEqual(c.Expected[0], want) {
			t.Errorf("%s is read as %+v", text, c)
		}
	}
	if strings.Contains(d.get("?read=a.md").Body.String(), "deskhand eval") {
		t.Error("a case without a question")
	}
}

// FuzzRead checks that the page shows any text of a corpus as text.
func FuzzRead(f *testing.F) {
	f.Add("--- Chunk: a (Chunk 1 of 1) (Target) ---\ntext", "a.md#x", `{"chunks":[{"chunk_id":"a"}]}`)
	f.Add("\\--- Chunk: <script>", "\u202e", `{"hits":[{"why":{}}]}`)
	empty := newDesk().get("").Body.String() // has the scripts of the page only
	f.Fuzz(func(t *testing.T, text, id, facts string) {
		d := newDesk()
		d.text = text
		if json.Valid([]byte(facts)) {
			d.doc, d.search = facts, facts
		}
		body := d.get("?q=x&read=" + url.QueryEscape(id)).Body.String()
		if strings.Count(body, "<script") != strings.Count(empty, "<script") || strings.Contains(body, "<img") {
			t.Errorf("%q, %q and %q are shown as markup:\n%s", text, id, facts, body)
		}
	})
}

// Pages of several libraries often have the same path.
func TestHitsNameTheirLibrary(t *testing.T) {
	d := newDesk()
	d.search = `{"hits":[{"chunk_id":"one:a.md#x","heading":"X","filepath":"a.md","library":"one"},{"chunk_id":"two@1.0:a.md#x","heading":"X","filepath":"a.md","library":"two@1.0"}]}`
	wants(t, "hits", d.get("?q=x").Body.String(), `<code>a.md</code> <span class="chip">one</span>`, `<code>a.md</code> <span class="chip">two@1.0</span>`)
}

// More libraries than a schema lists are suggested while one types.
func TestManyLibrariesAreSuggested(t *testing.T) {
	d := newDesk()
	d.page.options.Libraries = func() []string { return []string{"alpha", `b"<c>`} }
	tools := d.page.options.Tools
	d.page.options.Tools = func(half bool) (search, read contract.Tool) {
		search, read = tools(half)
		search.Input = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"library":{"type":"string","description":"Only this."}}}`)
		return search, read
	}
	wants(t, "the page", d.get("?q=x&library=+alpha").Body.String(),
		`<input id="facet-library" name="library" list="facets-library" value="alpha"`, `<option value="alpha">`, `<option value="b&#34;&lt;c&gt;">`)
	if len(d.calls) != 1 || d.calls[0] != `search_docs{"query":"x","library":"alpha"}` {
		t.Errorf("calls %v", d.calls)
	}
	d.page.options.Libraries = nil
	wants(t, "the page without names", d.get("").Body.String(), `<input id="facet-library"`)
}
