package source

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/runtime/fault"
)

// testClock goes on only when something sleeps.
type testClock struct {
	now   time.Time
	slept []time.Duration
	wake  func() error // of the next sleep; nil: it passes
}

func (c *testClock) Now() time.Time { return c.now }

func (c *testClock) Sleep(ctx context.Context, d time.Duration) error {
	c.now, c.slept = c.now.Add(d), append(c.slept, d)
	if c.wake != nil {
		return c.wake()
	}
	return ctx.Err()
}

// webServer serves pages and writes down what was asked for.
type webServer struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]func(http.ResponseWriter, *http.Request)
	asked []string
}

func newWebServer(t *testing.T) *webServer {
	s := &webServer{pages: map[string]func(http.ResponseWriter, *http.Request){}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.RequestURI())
		page := s.pages[r.URL.RequestURI()]
		s.mu.Unlock()
		if page == nil {
			http.NotFound(w, r)
			return
		}
		page(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// has serves a text; its ETag is its length.
func (s *webServer) has(path, kind, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = func(w http.ResponseWriter, r *http.Request) {
		tag := fmt.Sprintf(`"%d"`, len(text))
		w.Header().Set("Content-Type", kind)
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, text)
	}
}

func (s *webServer) leads(path, to string) {
	s.pages[path] = func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func (s *webServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked
	s.asked = nil
	return all
}

// filesOf are the files of a source, sorted.
func filesOf(t *testing.T, s *Source) string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(s.Dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(s.Dir, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return strings.Join(files, " ")
}

func opened(t *testing.T, address string, o Options) *Source {
	t.Helper()
	s, err := Open(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestLLMsTxtWithItsPages(t *testing.T) {
	web := newWebServer(t)
	web.has("/docs/llms.txt", "text/plain", "# Acme\n\n- [Guide](guide.md): how\n- [Again](guide.md#part)\n- [API](/api \"title\")\n- [Wiki](https://en.wikipedia.invalid/wiki/A_(b))\n- [Gone](/gone)\n- [Picture](/p.png)\n- [Mail](mailto:a@example.com)\n")
	web.has("/docs/guide.md", "text/plain; charset=utf-8", "# Guide\n")
	web.has("/api", "text/html", "<main>API</main>")
	web.has("/p.png", "image/png", "x")
	clock := &testClock{now: time.Unix(1e9, 0)}
	s := opened(t, web.URL+"/docs/llms.txt", Options{clock: clock})
	if got := filesOf(t, s); got != "api.html docs/guide.md llms.md" || s.Name != "127.0.0.1" || s.Path != "." {
		t.Errorf("files %s, source %+v", got, s)
	}
	got := formats.LeftOut(s.LeftOut)
	if !strings.HasPrefix(got, "left out: 1 page (404 Not Found), 1 page (") || !strings.HasSuffix(got, "1 page (of type image/png)") {
		t.Error(got)
	}
	asked := web.requests()
	if fmt.Sprint(asked) != "[/docs/llms.txt /docs/guide.md /api /gone /p.png]" {
		t.Errorf("asked for %v", asked)
	}
	for _, d := range clock.slept {
		if d < pace {
			t.Errorf("a pause of %v", d)
		}
	}
	if len(clock.slept) < len(asked)-1 {
		t.Errorf("%d pauses between %d requests", len(clock.slept), len(asked))
	}
}

// The case of a scheme has no meaning.
func TestAddressesInCapitals(t *testing.T) {
	web := newWebServer(t)
	web.has("/llms-full.txt", "text/plain", "# Guide\n")
	web.has("/guide.md", "text/plain", "# Guide\n")
	capitals := strings.Replace(web.URL, "http", "HTTP", 1)
	for _, address := range []string{capitals + "/llms-full.txt", capitals + "/guide.md"} {
		s := opened(t, address, Options{})
		if got := filesOf(t, s); got != "guide.md" || s.Address != strings.Replace(address, "HTTP", "http", 1) {
			t.Errorf("%s: files %s, recorded as %s", address, got, s.Address)
		}
	}
}

func TestLLMsFullTxtIsCutIntoPages(t *testing.T) {
	web := newWebServer(t)
	web.has("/llms-full.txt", "text/plain", "# Guide\n\nSource: /guide\n\n```sh\n# a comment\n```\n## Part\n\n# API: v1/x\ntext\n# Guide\nother\n")
	s := opened(t, web.URL+"/llms-full.txt", Options{})
	if got := filesOf(t, s); got != "api-v1-x.md guide-2.md guide.md" {
		t.Errorf("files %s", got)
	}
	b, err := os.ReadFile(filepath.Join(s.Dir, "guide.md"))
	if err != nil || !strings.Contains(string(b), "# a comment\n```\n## Part") {
		t.Errorf("guide.md is %q, %v", b, err)
	}
	web.has("/llms.txt", "text/html", "<html>Not found")
	if _, err := Open(t.Context(), web.URL+"/llms.txt", Options{}); fault.Of(err) == nil || fault.Of(err).Code != "source_failed" {
		t.Errorf("a page instead: %v", err)
	}
}

// site serves three pages below /docs/, and what a sitemap can name besides.
func site(t *testing.T) *webServer {
	web := newWebServer(t)
	web.has("/robots.txt", "text/plain", "User-agent: *\nDisallow: /\n\nUser-agent: Deskhand\nUser-agent: other\nDisallow: /docs/private*\nAllow: /docs/private/open$\nCrawl-delay: 2\n\nSitemap: "+web.URL+"/index.xml\n")
	web.has("/index.xml", "application/xml", `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>`+web.URL+`/pages.xml.gz</loc></sitemap><sitemap><loc>https://elsewhere.invalid/s.xml</loc></sitemap></sitemapindex>`)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, `<?xml version="1.0"?><urlset>`)
	for _, path := range []string{"/docs/", "/docs/a?x=1", "/docs/b", "/docs/b#part", "/docs/private/x", "/docs/private/open", "/blog/x", "/docs/missing", "/docs/moved", "/docs/file.pdf", "/docs/no"} {
		fmt.Fprintf(z, "<url><loc>%s%s</loc><lastmod>2026-01-01</lastmod></url>", web.URL, path)
	}
	fmt.Fprint(z, `<url><loc>https://elsewhere.invalid/docs/</loc></url></urlset>`)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	web.has("/pages.xml.gz", "application/gzip", b.String())
	web.has("/docs/", "text/html", "<main>Start</main>")
	web.has("/docs/a?x=1", "text/html", "<main>A</main>")
	web.has("/docs/b", "text/html", "<main>B</main>")
	web.has("/docs/private/open", "text/html", "<main>Open</main>")
	web.has("/docs/file.pdf", "application/pdf", "%PDF")
	web.has("/docs/no", "text/html", `<meta name="robots" content="noindex">`)
	web.leads("/docs/moved", "http://169.254.169.254/latest/")
	return web
}

func TestPagesThatRobotsMayNotIndex(t *testing.T) {
	for said, want := range map[string]bool{
		`<meta name="robots" content="noindex, nofollow">`:                   true,
		`<META CONTENT='nofollow,NOINDEX' NAME='Robots'/>`:                   true,
		`<meta name=robots content=noindex>`:                                 true,
		`<meta data-x="a>b" name="robots" content=" none ">`:                 true,
		`<meta name="deskhand" content="noindex">`:                           true,
		`<meta name="robots" content="index, max-image-preview:none">`:       false,
		`<meta name="googlebot" content="noindex">`:                          false,
		`<meta name="robots" content="all"><meta name="a" content="none">`:   false,
		`<meta name="description" content="what name=robots does: noindex">`: false,
	} {
		if got := noIndexMeta([]byte("<html><head>" + said + "</head>")); got != want {
			t.Errorf("noIndexMeta(%s) = %v, want %v", said, got, want)
		}
	}
	for said, want := range map[string]bool{
		"noindex": true, "nofollow, noindex": true, "NONE": true, "deskhand: noindex": true, "max-snippet: 20, noindex": true,
		"googlebot: noindex": false, "otherbot: nofollow, noindex": false, "max-image-preview:none": false, "unavailable_after: 25 Jun 2030 15:00:00 PST": false, "": false,
	} {
		if got := noIndexHeader([]string{"nosnippet", said}); got != want {
			t.Errorf("noIndexHeader(%q) = %v, want %v", said, got, want)
		}
	}
}

// A header says so for pages that have no meta element, and also after an interruption.
func TestSitesWhosePagesHaveAHeaderForRobots(t *testing.T) {
	web := newWebServer(t)
	web.has("/sitemap.xml", "application/xml", "<urlset><url><loc>"+web.URL+"/a.md</loc></url><url><loc>"+web.URL+"/b.md</loc></url></urlset>")
	web.has("/a.md", "text/markdown", "# A\n")
	web.pages["/b.md"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Robots-Tag", "noindex")
		w.Header().Set("Content-Type", "text/markdown")
		fmt.Fprint(w, "# B\n")
	}
	o := Options{clock: &testClock{now: time.Unix(1e9, 0)}, Cache: t.TempDir()}
	for range 2 {
		s := opened(t, "site:"+web.URL+"/", o)
		if got := filesOf(t, s) + formats.LeftOut(s.LeftOut); got != "a.mdleft out: 1 page (its X-Robots-Tag header says noindex)" {
			t.Error(got)
		}
	}
}

func TestSitesByTheirSitemap(t *testing.T) {
	web := site(t)
	clock := &testClock{now: time.Unix(1e9, 0)}
	o := Options{clock: clock, Cache: t.TempDir()}
	var shown []string
	o.Progress = func(done, total int) { shown = append(shown, fmt.Sprintf("%d/%d", done, total)) }
	s := opened(t, "site:"+web.URL+"/docs/", o)
	files := strings.Fields(filesOf(t, s))
	if len(files) != 4 || !strings.HasPrefix(files[0], "docs/a-") || strings.Join(files[1:], " ") != "docs/b.html docs/index.html docs/private/open.html" || s.Address != "site:"+web.URL+"/docs/" {
		t.Errorf("files %v, source %+v", files, s)
	}
	if got := formats.LeftOut(s.LeftOut); got != "left out: 1 page (404 Not Found), 1 page (disallowed by robots.txt), 1 page (its robots meta tag says noindex), 1 page (of type application/pdf), 1 page (on another host)" {
		t.Error(got)
	}
	asked := web.requests()
	if slices.Contains(asked, "/docs/private/x") || slices.Contains(asked, "/blog/x") || len(asked) != 11 {
		t.Errorf("asked for %v", asked)
	}
	for _, d := range clock.slept {
		if d != 2*time.Second {
			if d != pace { // before robots.txt is read
				t.Errorf("a pause of %v", d)
			}
		}
	}
	if len(clock.slept) != len(asked)-1 || shown[0] != "0/8" || shown[len(shown)-1] != "8/8" {
		t.Errorf("%d pauses between %d requests, progress %v", len(clock.slept), len(asked), shown)
	}

	// A second visit asks for nothing that the sitemap says did not change.
	s = opened(t, "site:"+web.URL+"/docs/", o)
	if got := filesOf(t, s); got != strings.Join(files, " ") {
		t.Errorf("the second time the files are %s", got)
	}
	if asked := web.requests(); len(asked) != 5 {
		t.Errorf("the second time asked for %v", asked)
	}
}

func TestSitesGoOnWhereTheyWereInterrupted(t *testing.T) {
	web := site(t)
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	clock := &testClock{now: time.Unix(1e9, 0)}
	clock.wake = func() error {
		if len(clock.slept) == 5 { // behind robots.txt, two sitemaps and two pages
			cancel()
		}
		return ctx.Err()
	}
	if _, err := Open(ctx, "site:"+web.URL+"/docs/", Options{clock: clock, Cache: cache}); err == nil {
		t.Fatal("not interrupted")
	}
	if asked := web.requests(); len(asked) != 5 {
		t.Fatalf("asked for %v", asked)
	}
	// A line that a kill cut short, and a body that is damaged, are had again.
	kept, err := filepath.Glob(filepath.Join(cache, "sites", "*", "pages.jsonl"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v, %v", kept, err)
	}
	f, err := os.OpenFile(kept[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"loc": "http`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s := opened(t, "site:"+web.URL+"/docs/", Options{clock: &testClock{now: clock.now}, Cache: cache})
	if files := strings.Fields(filesOf(t, s)); len(files) != 4 {
		t.Errorf("files %v", files)
	}
	if asked := web.requests(); slices.Contains(asked, "/docs/") || slices.Contains(asked, "/docs/a?x=1") || !slices.Contains(asked, "/docs/b") {
		t.Errorf("the second time asked for %v", asked)
	}
}

// One bad sitemap of many does not hide the pages of the others, and a page of HTML where a
// sitemap may be is none.
func TestASitemapThatCannotBeRead(t *testing.T) {
	for what, robots := range map[string]string{"named by robots.txt": "Sitemap: /index.xml\n", "at the usual addresses": ""} {
		t.Run(what, func(t *testing.T) {
			web := newWebServer(t)
			web.has("/robots.txt", "text/plain", robots)
			web.has("/index.xml", "text/xml", "<sitemapindex><sitemap><loc>/bad.xml</loc></sitemap><sitemap><loc>/sitemap.xml</loc></sitemap></sitemapindex>")
			for _, bad := range []string{"/bad.xml", "/docs%20a/sitemap.xml"} {
				web.has(bad, "text/html", "<html><p>An app<br></html>")
			}
			web.has("/sitemap.xml", "text/xml", `<?xml version="1.0" encoding="ISO-8859-1"?><urlset><url><loc>/docs%20a/x</loc></url><url><loc>/other</loc></url></urlset>`)
			web.has("/docs%20a/x", "text/html", "<main>X</main>")
			o := Options{clock: &testClock{now: time.Unix(1e9, 0)}, Cache: t.TempDir()}
			if got := filesOf(t, opened(t, "site:"+web.URL+"/docs%20a/", o)); got != "docs-a/x.html" {
				t.Errorf("files %q, want docs-a/x.html", got)
			}
			web.pages["/sitemap.xml"] = nil
			if _, err := Open(t.Context(), "site:"+web.URL+"/docs%20a/", o); err == nil || !strings.Contains(err.Error(), "cannot be read") {
				t.Errorf("without another sitemap: %v, want an error that names the bad one", err)
			}
		})
	}
}

// Each redirect is a request at the allowed rate, and robots.txt is also for where it leads.
func TestSitesRedirects(t *testing.T) {
	web := newWebServer(t)
	web.has("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private/\n")
	web.has("/sitemap.xml", "text/xml", "<urlset><url><loc>/moved</loc></url><url><loc>/hidden</loc></url><url><loc>/loop</loc></url></urlset>")
	web.leads("/moved", "/further")
	web.leads("/further", "/a")
	web.leads("/hidden", "/private/x")
	web.leads("/loop", "/loop")
	web.has("/a", "text/html", "<main>A</main>")
	web.has("/private/x", "text/html", "<main>X</main>")
	clock := &testClock{now: time.Unix(1e9, 0)}
	s := opened(t, "site:"+web.URL, Options{clock: clock, Cache: t.TempDir()})
	if got := formats.LeftOut(s.LeftOut); filesOf(t, s) != "moved.html" || got != "left out: 1 page (disallowed by robots.txt), 1 page (it redirects more than 10 times)" {
		t.Errorf("files %s, %s", filesOf(t, s), got)
	}
	asked := web.requests()
	if slices.Contains(asked, "/private/x") || len(asked) != 16 || len(clock.slept) != len(asked)-1 {
		t.Errorf("%d pauses between the requests %v", len(clock.slept), asked)
	}
}

// Addresses and headers that are too long to be kept between visits do not end the next one.
func TestAttackSourcesLongAddresses(t *testing.T) {
	web := newWebServer(t)
	long := "/" + strings.Repeat("x", 600<<10)
	web.has("/sitemap.xml", "text/xml", "<urlset><url><loc>/a</loc></url><url><loc>"+long+"</loc></url></urlset>")
	web.has(long, "text/html", "<main>Long</main>")
	web.pages["/a"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"`+strings.Repeat("e", 600<<10)+`"`)
		w.Header().Set("Last-Modified", strings.Repeat("m", 600<<10))
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<main>A</main>")
	}
	o := Options{clock: &testClock{now: time.Unix(1e9, 0)}, Cache: t.TempDir()}
	for range 2 {
		s := opened(t, "site:"+web.URL, o)
		if got := formats.LeftOut(s.LeftOut); filesOf(t, s) != "a.html" || got != "left out: 1 page (its address has more than 32768 bytes)" {
			t.Errorf("files %s, %s", filesOf(t, s), got)
		}
	}
}

// Two visits at once would delete each other's pages, and ask the server twice as often as
// they may.
func TestOneVisitToASiteAtATime(t *testing.T) {
	web, cache := site(t), t.TempDir()
	clock := &testClock{now: time.Unix(1e9, 0)}
	var second error
	clock.wake = func() error {
		if len(clock.slept) == 5 {
			_, second = Open(t.Context(), "site:"+web.URL+"/docs/", Options{clock: &testClock{now: clock.now}, Cache: cache})
		}
		return nil
	}
	s := opened(t, "site:"+web.URL+"/docs/", Options{clock: clock, Cache: cache})
	if f := fault.Of(second); f == nil || f.Code != "locked" || !f.Retryable {
		t.Errorf("a second visit during the first: %v, want fault locked", second)
	}
	if files := strings.Fields(filesOf(t, s)); len(files) != 4 {
		t.Errorf("files %v", files)
	}
	if s, err := Open(t.Context(), "site:"+web.URL+"/docs/", Options{clock: &testClock{now: clock.now}, Cache: cache}); err != nil {
		t.Errorf("a visit after the first: %v", err)
	} else {
		s.Close()
	}
}

func TestSitesAskWhatChanged(t *testing.T) {
	web := newWebServer(t)
	web.has("/sitemap.xml", "text/xml", "<urlset><url><loc>/a</loc></url><url><loc>/b</loc></url></urlset>")
	web.has("/a", "text/html", "<main>A</main>")
	web.has("/b", "text/html", "<main>B</main>")
	o := Options{clock: &testClock{now: time.Unix(1e9, 0)}, Cache: t.TempDir()}
	opened(t, "site:"+web.URL, o)
	web.has("/b", "text/html", "<main>B and more</main>")
	s := opened(t, "site:"+web.URL, o)
	for name, want := range map[string]string{"a.html": "<main>A</main>", "b.html": "<main>B and more</main>"} {
		if b, err := os.ReadFile(filepath.Join(s.Dir, name)); err != nil || string(b) != want {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
	kept, _ := filepath.Glob(filepath.Join(o.Cache, "sites", "*", "*"))
	if len(kept) != 3 { // two bodies and the journal
		t.Errorf("kept: %v", kept)
	}
}

// What a server does against the one who asks ends, and nothing inside is asked.
func TestAttackSourcesSites(t *testing.T) {
	inside := 0
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside++ }))
	defer secret.Close()
	web := newWebServer(t)
	web.leads("/llms.txt", secret.URL+"/llms.txt")
	web.has("/big/llms.txt", "text/plain", "[big](big.html)\n[next](next.md)")
	web.has("/big/big.html", "text/html", strings.Repeat("<p>words</p>", (50<<20)/12))
	web.has("/big/next.md", "text/markdown", "# Next\n")
	o := Options{clock: &testClock{now: time.Unix(1e9, 0)}, Cache: t.TempDir()}
	if _, err := Open(t.Context(), web.URL+"/llms.txt", o); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("followed to another server of this machine: %v", err)
	}
	s := opened(t, web.URL+"/big/llms.txt", o)
	if got := formats.LeftOut(s.LeftOut); got != "left out: 1 page (it is larger than 8 MB)" || filesOf(t, s) != "big/next.md llms.md" {
		t.Errorf("%s, files %s", got, filesOf(t, s))
	}
	if inside != 0 {
		t.Errorf("%d requests to a server that the person did not name", inside)
	}

	// A server on the internet cannot lead here: the guard decides by the address.
	public, err := url.Parse("https://docs.example.com/llms.txt")
	if err != nil {
		t.Fatal(err)
	}
	v := newVisitor(public, o)
	for _, address := range []string{secret.URL, "http://169.254.169.254/latest/meta-data", "http://[::1]/", "http://localhost/", "http://10.0.0.1/"} {
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.get(t.Context(), at, 1<<10, nil)
		if err == nil || v.miss(t.Context(), err) != nil || v.left[formats.Left{Ending: "page", Reason: "on this machine or its network"}] == 0 && !strings.Contains(err.Error(), "never contacts") {
			t.Errorf("%s: %v, %v", address, err, v.left)
		}
		redirect, _ := http.NewRequest(http.MethodGet, "http://docs.example.com/", nil)
		if v.client.CheckRedirect(redirect, nil) == nil {
			t.Error("https leads to http")
		}
	}
	if inside != 0 {
		t.Errorf("%d requests to this machine", inside)
	}
	for _, address := range []string{"http://docs.example.com/llms.txt", "site:http://docs.example.com/", "site:file:///etc", "site:x", "site:ssh://example.com/x"} {
		if _, err := Open(t.Context(), address, o); fault.Of(err) == nil || fault.Of(err).Code != "bad_source" {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAttackSourcesSitemaps(t *testing.T) {
	web := newWebServer(t)
	o := func() Options { return Options{clock: &testClock{now: time.Unix(1e9, 0)}, Cache: t.TempDir()} }
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for i := range zeros {
		zeros[i] = ' '
	}
	for range maxSitemap>>20 + 2 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	z.Close()
	loops := "<sitemapindex>"
	for i := range 200 {
		loops += fmt.Sprintf("<sitemap><loc>%s/l%d.xml</loc></sitemap>", web.URL, i)
		web.has(fmt.Sprintf("/l%d.xml", i), "text/xml", fmt.Sprintf("<sitemapindex><sitemap><loc>%s/loop.xml</loc></sitemap><sitemap><loc>%s/l%d.xml</loc></sitemap></sitemapindex>", web.URL, web.URL, i+1))
	}
	web.has("/loop.xml", "text/xml", loops+"</sitemapindex>")
	web.has("/bomb.xml.gz", "application/gzip", b.String())
	web.has("/laughs.xml", "text/xml", `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>&b;&f;</loc></url></urlset>`)
	for path, want := range map[string]string{"/bomb.xml.gz": "source_failed", "/laughs.xml": "source_failed", "/loop.xml": "no_docs", "/none.xml": "no_docs"} {
		web.requests()
		_, err := Open(t.Context(), "site:"+web.URL+path, o())
		if fault.Of(err) == nil || fault.Of(err).Code != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
		if n := len(web.requests()); n > maxSitemaps+2 {
			t.Errorf("%s: %d requests", path, n)
		}
	}
}

// A server that fails again and again is left alone.
func TestAttackSourcesServersThatFail(t *testing.T) {
	web := newWebServer(t)
	o := func() Options { return Options{clock: &testClock{now: time.Unix(1e9, 0)}, Cache: t.TempDir()} }
	pages := "<urlset>"
	for i := range 100 {
		pages += fmt.Sprintf("<url><loc>%s/p%d</loc></url>", web.URL, i)
		web.pages[fmt.Sprintf("/p%d", i)] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "99999")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	web.has("/sitemap.xml", "text/xml", pages+"</urlset>")
	options := o()
	_, err := Open(t.Context(), "site:"+web.URL, options)
	if fault.Of(err) == nil || !strings.Contains(err.Error(), "consecutive pages failed") {
		t.Errorf("a server that fails: %v", err)
	}
	if n := len(web.requests()); n > maxFailures*maxTries+3 {
		t.Errorf("%d requests", n)
	}
	for _, d := range options.clock.(*testClock).slept {
		if d > maxWait {
			t.Errorf("a pause of %v", d)
		}
	}
	web.pages["/robots.txt"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	if _, err := Open(t.Context(), "site:"+web.URL, o()); err == nil || !strings.Contains(err.Error(), "robots.txt") {
		t.Errorf("robots.txt that cannot be had: %v", err)
	}
}

func TestRobotsRules(t *testing.T) {
	r := parseRobots([]byte("User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*.pdf$\nDisallow:\nDisallow: /x*y*z\n# Disallow: /c\n"))
	for path, want := range map[string]bool{"/": true, "/a": false, "/a/b/c": true, "/d.pdf": false, "/d.pdf?x": true, "/c": true, "/x1y2z3": false, "/xz": true} {
		if got := r.allows(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	for _, src := range []string{"\uFEFFUser-agent: *\nDisallow: /b\u00fccher", "User-agent: *\rDisallow: /b%c3%BCcher/\r", "User-Agent:DESKHAND\r\nDisallow: /%62\u00fccher\r\n\r\nUser-agent: *\r\nAllow: /\r\n"} {
		if r := parseRobots([]byte(src)); r.allows("/b%C3%BCcher/1") || !r.allows("/bucher") {
			t.Errorf("%q: %+v", src, r.rules)
		}
	}
	if r := parseRobots([]byte("User-agent: *\nCrawl-delay: 1e300\n")); r.delay != maxPace {
		t.Errorf("a delay of %v", r.delay)
	}
}

// A robots.txt on another host counts (RFC 9309, section 2.3.1.2).
func TestRobotsElsewhere(t *testing.T) {
	web := newWebServer(t)
	web.leads("/robots.txt", "http://rules.example/robots.txt")
	web.has("/sitemap.xml", "text/xml", "<urlset><url><loc>/a</loc></url><url><loc>/private/b</loc></url></urlset>")
	start, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := openCrawl(start, Options{clock: &testClock{now: time.Unix(1e9, 0)}, Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.others = &http.Client{Transport: answers("User-agent: *\nDisallow: /private/\n")}
	if err := c.readRobots(t.Context()); err != nil {
		t.Fatal(err)
	}
	if wanted, err := c.wanted(t.Context()); err != nil || len(wanted) != 1 || wanted[0].at.Path != "/a" {
		t.Errorf("wanted %v, %v", wanted, err)
	}
}

// answers is a transport whose servers all send the same text.
type answers string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	_, err := w.WriteString(string(a))
	response := w.Result()
	response.Request = r
	return response, err
}

func TestOneFileIsASource(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"petstore-1.2.0.yaml": "openapi: 3.0.0\n", "x.bin": "x"})
	s := opened(t, filepath.Join(dir, "petstore-1.2.0.yaml"), Options{})
	if filesOf(t, s) != "petstore-1.2.0.yaml" || s.Name != "petstore" || s.Version != "1.2.0" || s.Path != "." || !strings.HasPrefix(s.Digest, "sha256:") {
		t.Errorf("%+v", s)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	if s := opened(t, server.URL+"/petstore-1.2.0.yaml?raw=1", Options{}); filesOf(t, s) != "petstore-1.2.0.yaml" || s.Name != "petstore" {
		t.Errorf("%+v", s)
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "x.bin"), Options{}); fault.Of(err) == nil || fault.Of(err).Code != "bad_source" {
		t.Errorf("a file of another kind: %v", err)
	}
}

func TestDocsInOtherFormatsAreFound(t *testing.T) {
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	write(t, dir, map[string]string{"README.md": "# R\n", "doc/a.html": "<p>a", "test/x.html": "<p>x"})
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "one")
	if s := opened(t, dir+"#main", Options{}); s.Path != "doc" || s.MarkdownOnly != "" {
		t.Errorf("%+v", s)
	}
	git(t, dir, "rm", "-q", "-r", "doc")
	git(t, dir, "commit", "-q", "-m", "two")
	if s := opened(t, dir+"#main", Options{}); s.Path != "." || s.MarkdownOnly == "" {
		t.Errorf("all of a repository: %+v", s)
	}
}
