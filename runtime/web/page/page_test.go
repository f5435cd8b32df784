package page

import (
	"bytes"
	"errors"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestTextOfAgentsIsTypesetAndInert(t *testing.T) {
	for source, want := range map[string]string{
		"Is **this** `ok`?":                 `<p dir="auto">Is <strong>this</strong> <code>ok</code>?</p>`,
		"a *few* words":                     `<p dir="auto">a <em>few</em> words</p>`,
		"2 * 3 * 4":                         `<p dir="auto">2 * 3 * 4</p>`,
		"one\ntwo\n\nthree":                 `<p dir="auto">one<br>two</p> <p dir="auto">three</p>`,
		"- a\n- b":                          `<ul dir="auto"><li>a </li> <li>b </li> </ul>`,
		"1. a\n2. b\n\nend":                 `<ol dir="auto"><li>a </li> <li>b </li> </ol> <p dir="auto">end</p>`,
		"# Head":                            `<p dir="auto"><strong>Head</strong></p>`,
		"```go\nif a < b {\n```\nafter":     `<div class="copied"><pre dir="ltr" tabindex="0"><i class="k">if</i> a &lt; b {</pre><button type="button" class="quiet small" data-copy>Copy</button></div> <p dir="auto">after</p>`,
		"[here](https://evil.example/)":     `<p dir="auto">here (<code>https://evil.example/</code>)</p>`,
		"![p](https://evil.example/)":       `<p dir="auto">p (<code>https://evil.example/</code>)</p>`,
		"| a | b |\n|---|---|\n| 1 | `2` |": `<div class="tablebox" tabindex="0" role="region" aria-label="Table"><table><tr><th dir="auto">a</th><th dir="auto">b</th></tr><tr><td dir="auto">1</td><td dir="auto"><code>2</code></td></tr></table></div>`,
		"- [x] a\n  - b":                    `<ul dir="auto"><li>☑ a <ul dir="auto"><li>b </li> </ul> </li> </ul>`,
		"> quoted":                          `<blockquote dir="auto"><p dir="auto">quoted</p> </blockquote>`,
		"> [!Warning]\n> It *deletes*.":     `<blockquote class="note warn" dir="auto"><p><strong>Warning</strong></p><p dir="auto">It <em>deletes</em>.</p> </blockquote>`,
		"> [!NOTE]\n>\n> - a":               `<blockquote class="note" dir="auto"><p><strong>Note</strong></p><ul dir="auto"><li>a </li> </ul> </blockquote>`,
		"> [!NOTE] more":                    `<blockquote dir="auto"><p dir="auto">[!NOTE] more</p> </blockquote>`,
		"| a | b |\n|:-:|--:|\n| 1 | 2 |":   `<div class="tablebox" tabindex="0" role="region" aria-label="Table"><table><tr><th dir="auto" class="middle">a</th><th dir="auto" class="end">b</th></tr><tr><td dir="auto" class="middle">1</td><td dir="auto" class="end">2</td></tr></table></div>`,
		"a <b onclick=x>c</b>":              `<p dir="auto">a &lt;b onclick=x&gt;c&lt;/b&gt;</p>`,
		"<https://evil.example/>":           `<p dir="auto"><code>https://evil.example/</code></p>`,
		"<script>alert(1)</script>":         `<p dir="auto">&lt;script&gt;alert(1)&lt;/script&gt;</p>`,
		"`<b>` **<i>**":                     `<p dir="auto"><code>&lt;b&gt;</code> <strong>&lt;i&gt;</strong></p>`,
		"safe \u202egpj.exe":                "<p dir=\"auto\">safe \ufffdgpj.exe</p>",
		"":                                  "",
	} {
		if got := strings.Join(strings.Fields(string(Text(source))), " "); got != strings.Join(strings.Fields(want), " ") {
			t.Errorf("Text(%q) = %s, want %s", source, got, want)
		}
	}
}

func TestLinkedFollowsOnlyWhatItIsTold(t *testing.T) {
	follow := func(to string) string {
		if to == "a.md" {
			return "/search?read=\"a.md"
		}
		return ""
	}
	got := string(Linked("[**one**](a.md) [two](javascript:alert(1)) ![three](a.md)", follow))
	if want := `<p dir="auto"><a href="/search?read=&#34;a.md"><strong>one</strong></a> two (<code>javascript:alert(1)</code>) three (<code>a.md</code>)</p>`; strings.TrimSpace(got) != want {
		t.Errorf("Linked = %s, want %s", got, want)
	}
}

// known matches the tags that a text may have.
var known = regexp.MustCompile(`<(p|ul|ol|ol start="[0-9]+"|blockquote|blockquote class="note( good| warn| alarm)?"|pre|td|th) dir="auto"( class="(middle|end)")?>|<pre dir="ltr" tabindex="0">|<div class="copied">|<button type="button" class="quiet small" data-copy>Copy</button>|<div class="tablebox" tabindex="0" role="region" aria-label="Table">|</(p|ul|ol|pre|blockquote|td|th|div|i)>|<i class="[a-z]">|<(br|hr)>|</?(strong|em|code|li|del|table|tr)>|<p>`)

func FuzzText(f *testing.F) {
	for _, s := range []string{"**a** `b`\n- c\n```\nd", "[a](javascript:alert(1))", "<img src=x onerror=alert(1)>", "1. *x*\n  y\n~~~", "> [!NOTE]\n> a", "> [!tip]  \n\n|a|\n|-:|"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if rest := known.ReplaceAllString(string(Text(source)), ""); strings.ContainsAny(rest, "<>\"") {
			t.Errorf("Text(%q) leaves %q", source, rest)
		}
	})
}

func shell() (*Shell, http.Handler) {
	s := New([]byte("key"))
	s.Nav = []Link{{Path: "/", Name: "Inbox"}, {Path: "/history", Name: "History"}}
	t := s.Parse(fstest.MapFS{"a.html": {Data: []byte(`{{define "main"}}<h1>{{.Data}}</h1>{{end}}`)}}, "a.html")
	return s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !s.Checked(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s.Write(w, r, http.StatusOK, t, "", Page{Title: "A", Here: "/", Data: "<b>"})
	})
}

func TestPageHasLayoutAndPolicy(t *testing.T) {
	_, h := shell()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	body := w.Body.String()
	for _, want := range []string{"<title>A · deskhand</title>", "<h1>&lt;b&gt;</h1>", `href="/" aria-current="page"`, `href="#main"`, "/static/deskhand.css?v="} {
		if !strings.Contains(body, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("Content-Security-Policy = %q", csp)
	}
}

func TestFormsCarryTheTokenOfTheirBrowser(t *testing.T) {
	_, h := shell()
	visit := func() (cookie *http.Cookie, token string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		m := regexp.MustCompile(`name="token" content="(\w+)"`).FindStringSubmatch(w.Body.String())
		return w.Result().Cookies()[0], m[1]
	}
	mine, token := visit()
	_, theirs := visit()
	for name, c := range map[string]struct {
		cookie *http.Cookie
		token  string
		header string
		want   int
	}{
		"the own":             {mine, token, "", 200},
		"of another browser":  {mine, theirs, "", 403},
		"none":                {mine, "", "", 403},
		"no cookie":           {nil, token, "", 403},
		"a program's request": {nil, "", "Bearer x", 200},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader(url.Values{"token": {c.token}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if c.cookie != nil {
			r.AddCookie(c.cookie)
		}
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("token %s: status %d, want %d", name, w.Code, c.want)
		}
	}
}

func TestFilesAreKeptByBrowsersAndPacked(t *testing.T) {
	s, _ := shell()
	r := httptest.NewRequest("GET", s.url("deskhand.css"), nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	s.Static().ServeHTTP(w, r)
	if w.Code != 200 || w.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("GET %s: %d %v", r.URL, w.Code, w.Header())
	}
	w = httptest.NewRecorder()
	s.Static().ServeHTTP(w, httptest.NewRequest("GET", StaticPath+"../page.go", nil))
	if w.Code != 404 {
		t.Errorf("GET of a file that is none: %d, want 404", w.Code)
	}
}

func TestASentenceBeginsAndEndsAsOne(t *testing.T) {
	for text, want := range map[string]string{
		"": "", ".": "", "it failed": "It failed.", "It ended.": "It ended.", "éditeur refuses it": "Éditeur refuses it.", "\u202eit": "\ufffdit.",
	} {
		if got := Sentence(text); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestOnlyPathsOfThisServerAreLocal(t *testing.T) {
	for to, want := range map[string]string{
		"/": "/", "/inbox/elc_1?all=1": "/inbox/elc_1?all=1", "": "", "inbox": "", "//elsewhere.example/": "", "https://elsewhere.example/": "",
		`/\elsewhere.example`: "", "/\t/elsewhere.example": "",
	} {
		if got := Local(to); got != want {
			t.Errorf("Local(%q) = %q, want %q", to, got, want)
		}
	}
}

// No text of allowed size is slow to show, however deeply nested or malformed it
// is.
func TestAttackTextsAreQuick(t *testing.T) {
	for name, part := range map[string]string{"quotes": "> ", "lists": "- ", "emphasis": "*a ", "brackets": "[", "links": "[a](", "ticks": "`", "fences": "```\n", "pipes": "|a\n|-\n", "tilde": "~~a", "html": "<a ", "entities": "&#x"} {
		began := time.Now()
		Text(strings.Repeat(part, mostMarkdown/len(part)))
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}

// A page is compressed only for requests from this server's pages or the address
// bar. Any other page that makes a browser request it could measure the length.
func TestAttackPagesArePackedForTheirOwnOriginAlone(t *testing.T) {
	s := New([]byte("key"))
	tmpl := s.Parse(fstest.MapFS{"a.html": {Data: []byte(`{{define "main"}}{{.Data}}{{end}}`)}}, "a.html")
	for from, want := range map[string]string{"same-origin": "gzip", "none": "gzip", "same-site": "", "cross-site": "", "": ""} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", "gzip, br")
		r.Header.Set("Sec-Fetch-Site", from)
		w := httptest.NewRecorder()
		s.Write(w, r, http.StatusOK, tmpl, "", Page{Data: strings.Repeat("long ", 1000)})
		if got := w.Header().Get("Content-Encoding"); got != want || !strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Sec-Fetch-Site") {
			t.Errorf("from %q: Content-Encoding %q, want %q", from, got, want)
		}
		if want == "gzip" && w.Body.Len() > 2000 {
			t.Errorf("from %q: %d bytes", from, w.Body.Len())
		}
	}
}

// A form with a file is read as any other, and its token is checked.
func TestAFormWithAFileIsRead(t *testing.T) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := errors.Join(form.WriteField("token", "t"), form.Close()); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	if err := ReadForm(r); err != nil || r.PostFormValue("token") != "t" {
		t.Errorf("ReadForm = %v, token %q", err, r.PostFormValue("token"))
	}
	large := httptest.NewRequest("POST", "/", strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n"+strings.Repeat("x", 11<<20)+"\r\n--x--\r\n"))
	large.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	if err := ReadForm(large); !errors.As(err, new(*http.MaxBytesError)) {
		t.Errorf("a form that is too big: %v", err)
	}
}

// A server creates a shell at its start, and few servers are asked for a file.
func TestAFileIsCompressedWhenItIsAskedFor(t *testing.T) {
	s := New([]byte("key"))
	get := func() {
		r := httptest.NewRequest(http.MethodGet, StaticPath+"deskhand.css", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		s.Static().ServeHTTP(w, r)
		if w.Header().Get("Content-Encoding") != "gzip" {
			t.Error("the file is not compressed")
		}
	}
	const oneWriter = 500 << 10 // a compressor allocates more
	if n := allocated(get); n < oneWriter {
		t.Errorf("the first request for a file allocates %d bytes: it was compressed before", n)
	}
	if n := allocated(get); n > oneWriter {
		t.Errorf("the second request for a file allocates %d bytes: it was compressed again", n)
	}
}

// allocated returns the number of bytes that do allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
