package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/web/page"
)

const (
	rightToken = "right-token-right-token"
	rightKey   = "the-key-of-the-person"
)

// in configures how people sign in at the servers of these tests.
var in = People{Key: rightKey}

// Chromium and Firefox resolve names under .localhost themselves. Go asks the
// system, which may not resolve them.
func init() {
	http.DefaultTransport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) { //nolint:errcheck // it is one
		if host, port, err := net.SplitHostPort(address); err == nil && page.ThisMachine(host) {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
}

// house starts a server with pages and returns it with a browser.
func house(t *testing.T) (rt *running, browser *http.Client) {
	t.Helper()
	rt = run(t, Options{Token: rightToken, People: in, Shell: page.New([]byte("key")), Access: map[string]access.Rule{"/in": {Level: access.Agents}}, Mounts: map[string]http.Handler{
		"/in": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("welcome")) }), //nolint:errcheck // a test
	}})
	return rt, newBrowser(t)
}

func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// visit opens an address as a browser does and returns where it ended.
func visit(t *testing.T, browser *http.Client, address string, header ...string) (path, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	return finish(t, browser, r)
}

func finish(t *testing.T, browser *http.Client, r *http.Request) (path, body string) {
	t.Helper()
	response, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var b strings.Builder
	if err := response.Write(&b); err != nil {
		t.Fatal(err)
	}
	return response.Request.URL.RequestURI(), b.String()
}

func TestALinkLetsABrowserInOnce(t *testing.T) {
	rt, browser := house(t)
	base := "http://" + rt.addr
	if path, _ := visit(t, browser, base+"/in"); path != "/login?to=%2Fin" {
		t.Errorf("a stranger ends at %s, want the page to sign in on", path)
	}
	link := in.LoginLink(base, "/in")
	if _, body := visit(t, newBrowser(t), link, "Sec-Purpose: prefetch"); strings.Contains(body, "welcome") {
		t.Error("a link that was only looked at let somebody in")
	}
	if path, body := visit(t, browser, link); path != "/in" || !strings.Contains(body, "welcome") {
		t.Errorf("the link leads to %s\n%s", path, body)
	}
	if _, body := visit(t, browser, in.Home(base)+"/in"); !strings.Contains(body, "welcome") {
		t.Error("the browser is not signed in")
	}
	if _, body := visit(t, newBrowser(t), link); !strings.Contains(body, "already used") {
		t.Errorf("the link works twice:\n%s", body)
	}
}

func TestLinksThatLetNobodyIn(t *testing.T) {
	rt, _ := house(t)
	base := "http://" + rt.addr
	old := base + "/login?" + url.Values{"key": {pass(rightKey, "login", time.Now().Add(-time.Second), "")}}.Encode()
	for what, link := range map[string]string{
		"of another token":      People{Key: "another-key-another-key"}.LoginLink(base, "/in"),
		"too old":               old,
		"of another use":        base + "/login?" + url.Values{"key": {pass(rightKey, "session", time.Now().Add(time.Hour), "")}}.Encode(),
		"nonsense":              base + "/login?key=1.2.3",
		"with a later deadline": strings.Replace(in.LoginLink(base, "/in"), "key=1", "key=9", 1),
	} {
		if path, body := visit(t, newBrowser(t), link); strings.Contains(body, "welcome") || !strings.HasPrefix(path, "/login") {
			t.Errorf("a link %s leads to %s", what, path)
		}
	}
}

func TestThePersonsKeyLetsABrowserIn(t *testing.T) {
	rt, browser := house(t)
	base := in.Home("http://" + rt.addr)
	for _, c := range []struct{ key, to, want string }{
		{"wrong", "/in", "/login"}, {rightToken, "/in", "/login"}, {rightKey, "//evil.example/", "/"}, {rightKey, "/in", "/in"},
	} {
		browser.Jar, _ = cookiejar.New(nil) // never returns an error
		_, body := visit(t, browser, base+"/login")
		form := url.Values{"token": {regexp.MustCompile(`name="token" content="(\w+)"`).FindStringSubmatch(body)[1]}, "key": {c.key}, "to": {c.to}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/login", strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if path, _ := finish(t, browser, r); path != c.want {
			t.Errorf("POST %v leads to %s, want %s", form, path, c.want)
		}
	}
}

func TestNothingThatLetsSomebodyInIsLogged(t *testing.T) {
	panics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a bug") })
	rt := run(t, Options{Token: rightToken, People: in, Shell: page.New([]byte("key")),
		Access: map[string]access.Rule{"/in": {Level: access.Agents}, "/answer/{code}": {}},
		Mounts: map[string]http.Handler{"/in": panics, "/answer/{code}": panics}})
	browser, base := newBrowser(t), "http://"+rt.addr
	link := in.LoginLink(base, "/in")
	for _, address := range []string{link, link, base + "/in", base + "/in?token=" + rightToken, base + "/answer/a-code-of-a-link", base + "/login?key=%zz" + rightToken} {
		visit(t, browser, address)
	}
	rt.ask(t, "GET", "/in", "", "Authorization: Bearer "+rightToken)
	rt.ask(t, "GET", "/in", "", "Authorization: Bearer wrong-"+rightToken)
	if err := rt.stop(); err != nil {
		t.Fatal(err)
	}
	secrets := []string{rightToken, "a-code-of-a-link", link[strings.Index(link, "key=")+4:][:30]}
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range browser.Jar.Cookies(at) {
		secrets = append(secrets, c.Value)
	}
	log := rt.log.String()
	if len(secrets) < 4 || !strings.Contains(log, "a bug") {
		t.Fatalf("the browser has the cookies %v and the log is %s: too little to look at", secrets[3:], log)
	}
	for _, secret := range secrets {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q:\n%s", secret, log)
		}
	}
}

func TestForgedSessionsAreNone(t *testing.T) {
	rt, _ := house(t)
	const use = "session@127.0.0.1"
	id := func(how string) string { return fmt.Sprintf("%d-%s-x", time.Now().UnixMilli(), how) }
	for what, cookie := range map[string]string{
		"of another key":       pass("another-key-another-key", use, time.Now().Add(time.Hour), id("key")),
		"of the agents' token": pass(rightToken, use, time.Now().Add(time.Hour), id("key")),
		"of another host":      pass(rightKey, "session@localhost", time.Now().Add(time.Hour), id("key")),
		"too old":              pass(rightKey, use, time.Now().Add(-time.Second), id("key")),
		"of a link":            pass(rightKey, "login", time.Now().Add(time.Hour), ""),
		"without a beginning":  pass(rightKey, use, time.Now().Add(time.Hour), "x"),
		"nonsense":             "x",
	} {
		if response, _ := rt.ask(t, "GET", "/in", "", "Cookie: "+sessionCookie+"="+cookie); response.StatusCode != 401 {
			t.Errorf("a session %s: %d, want 401", what, response.StatusCode)
		}
	}
	good := sessionCookie + "=" + pass(rightKey, use, time.Now().Add(time.Hour), id("key"))
	if response, _ := rt.ask(t, "GET", "/in", "", "Cookie: "+sessionCookie+"=x; "+good); response.StatusCode != 200 {
		t.Errorf("a session beside that of another port: %d, want 200", response.StatusCode)
	}
	if response, _ := rt.ask(t, "POST", "/in", "", "Cookie: "+good, "Origin: http://evil.example"); response.StatusCode != 403 {
		t.Errorf("a session on a foreign page: %d, want 403", response.StatusCode)
	}
}

func TestOnceIsAskedForLinks(t *testing.T) {
	asked := &asked{}
	rt := run(t, Options{Token: rightToken, People: in, Shell: page.New(nil), Ledger: asked})
	visit(t, newBrowser(t), in.LoginLink("http://"+rt.addr, ""))
	if !strings.HasPrefix(asked.once, "login/") {
		t.Errorf("Once was asked for %q", asked.once)
	}
}

// asked is a ledger that records its calls.
type asked struct {
	memory
	once string
}

func (a *asked) Once(ctx context.Context, id string, until time.Time) (bool, error) {
	a.once = id
	return a.memory.Once(ctx, id, until)
}

func TestAPageThatIsNotThereIsAPageForAPersonAndJSONForAProgram(t *testing.T) {
	rt, browser := house(t)
	if _, body := visit(t, browser, "http://"+rt.addr+"/nope"); !strings.Contains(body, "Page not found") {
		t.Errorf("GET /nope of a browser = %s, want a page", body)
	}
	if r, body := rt.ask(t, "GET", "/nope", ""); r.StatusCode != http.StatusNotFound || !strings.Contains(body, `"error":"not_found"`) {
		t.Errorf("GET /nope of a program = %d %s, want 404 as JSON", r.StatusCode, body)
	}
}
