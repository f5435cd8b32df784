package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// browser is a person's browser.
type browser struct {
	*http.Client
	t   *testing.T
	who string // if empty, the person the agent works for
}

func newBrowser(t *testing.T) *browser {
	jar, _ := cookiejar.New(nil)
	return &browser{Client: &http.Client{Jar: jar}, t: t}
}

// seen is a page as a person sees it.
type seen struct {
	status int
	url    *url.URL
	body   string
	header http.Header
}

func (b *browser) do(r *http.Request) seen {
	b.t.Helper()
	if b.who != "" {
		r.Header.Set("X-Who", b.who)
	}
	answer, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return seen{answer.StatusCode, answer.Request.URL, string(body), answer.Header}
}

func (b *browser) get(address string) seen {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(r)
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]*)"`)

// press opens a page and presses one of its buttons.
func (b *browser) press(address, act string, fields ...string) seen {
	b.t.Helper()
	at := b.get(address)
	values := url.Values{"act": {act}}
	if m := tokenField.FindStringSubmatch(at.body); m != nil {
		values.Set("token", m[1])
	}
	for i := 0; i+1 < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, address, strings.NewReader(values.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

func userScoped(g *guard) Upstream {
	return Upstream{Name: "linear", URL: g.URL + "/mcp", Scope: UserScope}
}

func TestMissingCredentialPausesTheCallUntilSomebodyConnects(t *testing.T) { // I-001 I-006 I-013 I-021 I-027 I-029 I-030 I-059 I-063
	g := newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	ended := d.call("linear_echo", contract.Caller{Name: "agent", Version: "1"}, `{"zeta":"z"}`)
	r := d.asked()
	if r.Mode != elicit.URL || r.Trigger != elicit.CredentialRequired || r.URL != d.front.URL+"/connect/"+r.ID || r.Audience.Principal != "local" {
		t.Errorf("request = %+v, want mode url with the page of its own id", r)
	}
	if r.Context.ToolName != "linear_echo" || r.Context.Upstream != "linear" || r.Deadline.IsZero() {
		t.Errorf("request = %+v, want the tool, the upstream and a deadline", r)
	}
	b := newBrowser(t)
	page := b.get(r.URL)
	for _, want := range []string{"Connect Linear", "agent", "linear_echo", "read", strings.TrimPrefix(g.URL, "http://"), ">Connect</button>", ">Dismiss</button>"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page lacks %q: %s", want, page.body)
		}
	}
	if csp := page.header.Get("Content-Security-Policy"); !strings.Contains(csp, "form-action 'self' "+g.URL) {
		t.Errorf("policy %q, want the way to the sign-in in it", csp)
	}
	if done := b.press(r.URL, "connect"); done.status != 200 || !strings.Contains(done.body, "Linear is connected") || done.url.Path != "/connect/"+r.ID {
		t.Errorf("after connecting: %d %s %s", done.status, done.url, done.body)
	}
	if got, want := d.wait(ended).text(), `{"zeta":"z"}`; got != want {
		t.Errorf("the call = %s, want %s", got, want)
	}
	if n := g.upstream.called("echo"); n != 1 {
		t.Errorf("the upstream was called %d times, want once", n)
	}
	if n := g.noted("anonymous tools/call"); n != 0 {
		t.Errorf("%d calls without a credential, want none", n)
	}
	asked := g.requests[0]
	for name, want := range map[string]string{"code_challenge_method": "S256", "resource": g.URL + "/mcp", "client_id": "client-1", "scope": "read write", "redirect_uri": d.front.URL + "/connect/callback", "response_type": "code"} {
		if asked.Get(name) != want {
			t.Errorf("authorization request has %s %q, want %q", name, asked.Get(name), want)
		}
	}
	if o := d.now("linear_echo", `{"zeta":"again"}`); o.text() != `{"zeta":"again"}` {
		t.Errorf("the next call = %s", o.text())
	}
	if list, err := d.hub.List(t.Context(), elicit.Filter{}); err != nil || len(list.Requests) != 0 {
		t.Errorf("open requests = %+v, %v; want none", list.Requests, err)
	}
}

func TestEndsWithoutCredentialAreWorded(t *testing.T) { // I-024 I-025 I-026 I-033 I-035
	g := newGuard(t)
	g.onlyCalls = true
	const notProvided = "Authentication required but not provided."
	d := at(t, t.TempDir(), func(o *Options) { o.Wait = 700 * time.Millisecond }, userScoped(g))
	for how, detail := range map[elicit.Outcome]string{elicit.Decline: "declined", elicit.Cancel: "closed"} {
		ended := d.call("linear_echo", contract.Caller{}, `{"zeta":"z"}`)
		d.answer(d.asked().ID, how)
		o := d.wait(ended)
		if !o.result.Refused || o.result.Text[0] != notProvided || !strings.Contains(o.text(), detail) {
			t.Errorf("after %s = %s, want %q and why", how, o.text(), notProvided)
		}
	}
	o := d.now("linear_echo", `{"zeta":"z"}`)
	if !o.result.Refused || !strings.HasPrefix(o.text(), notProvided+" The request timed out") {
		t.Errorf("after the deadline = %s, want %q and that time is up", o.text(), notProvided)
	}
	const unreachable = "Tool linear_echo requires user authentication. The user needs to connect their Linear account before this tool can be used."
	lonely := at(t, t.TempDir(), func(o *Options) { o.Base = nil }, userScoped(g))
	began := time.Now()
	if o := lonely.now("linear_echo", `{}`); !o.result.Refused || o.text() != unreachable || time.Since(began) > waittest.Soon {
		t.Errorf("without anybody = %s after %v, want %s at once", o.text(), time.Since(began), unreachable)
	}
	if n := g.upstream.called("echo"); n != 0 {
		t.Errorf("the upstream was called %d times, want never", n)
	}
}

func TestDismissOnThePageDeclines(t *testing.T) { // I-022 I-052
	g := newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), func(o *Options) { o.Wait = 0 }, userScoped(g))
	ended := d.call("linear_echo", contract.Caller{}, `{}`)
	r := d.asked()
	if wait := r.Deadline.Sub(r.CreatedAt.Time); wait != 10*time.Minute {
		t.Errorf("the person has %v, want 10 minutes where nothing else is said", wait)
	}
	if page := newBrowser(t).press(r.URL, "dismiss"); !strings.Contains(page.body, "Linear is not connected") {
		t.Errorf("after Dismiss: %s", page.body)
	}
	if o := d.wait(ended); !strings.Contains(o.text(), "declined") {
		t.Errorf("the call = %s, want that it was declined", o.text())
	}
}

func TestCredentialThatComesAfterTheAnswerIsWaitedFor(t *testing.T) { // I-028
	g := newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	ended := d.call("linear_echo", contract.Caller{}, `{"zeta":"late"}`)
	d.answer(d.asked().ID, elicit.Accept)
	waittest.Nothing(t, "the end of the call before its credential has come", ended)
	g.mu.Lock()
	g.valid["given"] = true
	g.mu.Unlock()
	if err := d.vault.put(t.Context(), "linear", "local", &Credential{Kind: OAuth, Access: "given"}); err != nil {
		t.Fatal(err)
	}
	if o := d.wait(ended); o.text() != `{"zeta":"late"}` {
		t.Errorf("the call = %s, want the answer", o.text())
	}
	if err := d.discardAll(t); err != nil {
		t.Fatal(err)
	}
	ended = d.call("linear_echo", contract.Caller{}, `{}`)
	d.answer(d.asked().ID, elicit.Accept)
	if o := d.wait(ended); !strings.HasPrefix(o.text(), "Authentication required but not provided.") {
		t.Errorf("the call = %s, want that no credential has come", o.text())
	}
}

func (d *desk) discardAll(t *testing.T) error {
	_, err := d.Disconnect(t.Context(), "linear")
	return err
}

func TestManyCallsAskOnce(t *testing.T) {
	g := newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	var calls []<-chan outcome
	var waiting atomic.Int32
	for range 5 {
		var once sync.Once
		told := func(context.Context, contract.Progress) { once.Do(func() { waiting.Add(1) }) }
		calls = append(calls, d.call("linear_echo", contract.Caller{Progress: told}, `{"zeta":"z"}`))
	}
	r := d.asked()
	waittest.Until(t, "all calls wait for the person", func() (bool, any) { n := waiting.Load(); return n == 5, n })
	if list, err := d.hub.List(t.Context(), elicit.Filter{}); err != nil || len(list.Requests) != 1 {
		t.Errorf("%d requests are open, %v; want one for all", len(list.Requests), err)
	}
	newBrowser(t).press(r.URL, "connect")
	for _, c := range calls {
		if o := d.wait(c); o.text() != `{"zeta":"z"}` {
			t.Errorf("a call = %s", o.text())
		}
	}
	if n := g.upstream.called("echo"); n != 5 {
		t.Errorf("the upstream was called %d times, want 5", n)
	}
}

func TestRefusedCredentialIsAskedForOnceMore(t *testing.T) {
	g := newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	if err := d.vault.put(t.Context(), "linear", "local", &Credential{Kind: OAuth, Access: "revoked-there"}); err != nil {
		t.Fatal(err)
	}
	ended := d.call("linear_echo", contract.Caller{}, `{"zeta":"z"}`)
	newBrowser(t).press(d.asked().URL, "connect")
	if o := d.wait(ended); o.text() != `{"zeta":"z"}` {
		t.Errorf("the call = %s, want the answer after one more sign-in", o.text())
	}
	g.mu.Lock()
	g.reject = true
	g.mu.Unlock()
	ended = d.call("linear_echo", contract.Caller{}, `{}`)
	newBrowser(t).press(d.asked().URL, "connect")
	o := d.wait(ended)
	if f := fault.Of(o.err); f == nil || f.Code != "credential_refused" {
		t.Errorf("the call = %s, want a failure and no second request", o.text())
	}
}

// ages makes linear's token expire.
func (d *desk) ages(t *testing.T) {
	t.Helper()
	c, err := d.vault.credential(t.Context(), "linear", "local")
	if err != nil || c == nil {
		t.Fatalf("credential = %v, %v; want the one that was connected", c, err)
	}
	old := *c
	old.Got, old.Expires = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	if err := d.vault.put(t.Context(), "linear", "local", &old); err != nil {
		t.Fatal(err)
	}
}

func TestTokensAreRenewedOnceAtATime(t *testing.T) {
	g := newGuard(t)
	g.onlyCalls, g.lifetime, g.slow = true, 3600, 100*time.Millisecond
	dir := t.TempDir()
	d := at(t, dir, nil, userScoped(g))
	ended := d.call("linear_echo", contract.Caller{}, `{"zeta":"z"}`)
	newBrowser(t).press(d.asked().URL, "connect")
	d.wait(ended)
	g.mu.Lock()
	g.log = nil
	g.mu.Unlock()
	d.ages(t)
	other := at(t, dir, nil, userScoped(g)) // as a second process
	var all sync.WaitGroup
	for i := range 8 {
		on := []*desk{d, other}[i%2]
		all.Go(func() {
			if o := on.now("linear_echo", `{"zeta":"z"}`); o.text() != `{"zeta":"z"}` {
				t.Errorf("a call = %s", o.text())
			}
		})
	}
	all.Wait()
	if n := g.noted("refresh"); n != 1 {
		t.Errorf("the token was renewed %d times, want once", n)
	}
}

func TestCredentialThatCannotBeRenewedIsAskedFor(t *testing.T) {
	g := newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	stale := &Credential{Kind: OAuth, Access: "old", Refresh: "revoked", Expires: time.Now().Add(-time.Minute), TokenURL: g.URL + "/token", Issuer: g.URL, Client: oauthClient{ID: "client-1"}}
	if err := d.vault.put(t.Context(), "linear", "local", stale); err != nil {
		t.Fatal(err)
	}
	ended := d.call("linear_echo", contract.Caller{}, `{"zeta":"z"}`)
	newBrowser(t).press(d.asked().URL, "connect")
	if o := d.wait(ended); o.text() != `{"zeta":"z"}` {
		t.Errorf("the call = %s", o.text())
	}
}

func TestGuardedListIsOneToolUntilTheFirstSignIn(t *testing.T) {
	g := newGuard(t)
	dir := t.TempDir()
	d := at(t, dir, nil, userScoped(g))
	d.tool("linear_connect")
	if got := names(d.Tools()); len(got) != 1 {
		t.Errorf("tools = %v, want linear_connect alone", got)
	}
	ended := d.call("linear_connect", contract.Caller{}, `{}`)
	newBrowser(t).press(d.asked().URL, "connect")
	if o := d.wait(ended); o.result.Refused || !strings.Contains(o.text(), "- linear_echo") {
		t.Errorf("linear_connect = %s, want the tools that there are now", o.text())
	}
	if got := strings.Join(names(d.Tools()), " "); strings.Contains(got, "connect") || !strings.Contains(got, "linear_echo") {
		t.Errorf("tools = %s, want the real ones", got)
	}
	if _, err := d.Disconnect(t.Context(), "linear"); err != nil {
		t.Fatal(err)
	}
	if g.noted("revoke") != 1 {
		t.Error("the issuer does not hear that the credential is given back")
	}
	d.end()
	before := g.noted("anonymous initialize") + g.noted("anonymous server/discover")
	d = at(t, dir, nil, userScoped(g))
	d.tool("linear_echo") // remembered from the store
	if after := g.noted("anonymous initialize") + g.noted("anonymous server/discover"); after != before {
		t.Error("an upstream that is known was asked without a credential")
	}
}

// A server that supports no version with initialize refuses both of the SDK's
// attempts, the second for another reason.
func TestGuardedServerOfTheNewEraAloneCanBeConnected(t *testing.T) {
	g := newGuard(t)
	g.newEra = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	d.tool("linear_connect")
	ended := d.call("linear_connect", contract.Caller{}, `{}`)
	newBrowser(t).press(d.asked().URL, "connect")
	if o := d.wait(ended); o.result.Refused || !strings.Contains(o.text(), "- linear_echo") {
		t.Errorf("linear_connect = %s, want the tools that there are now", o.text())
	}
	d.works("linear_echo", `{"zeta":"z"}`, `{"zeta":"z"}`)
}

func TestPlaceToSignInMayMove(t *testing.T) {
	g, other := newGuard(t), newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	ended := d.call("linear_echo", contract.Caller{}, `{"zeta":"z"}`)
	b := newBrowser(t)
	b.press(d.asked().URL, "connect")
	d.wait(ended)
	if g.noted("register native") != 1 {
		t.Errorf("registered as %q, want a native application", g.log)
	}
	g.mu.Lock()
	g.valid, g.refresh, g.issuer = map[string]bool{}, "", other.URL
	g.mu.Unlock()
	ended = d.call("linear_echo", contract.Caller{}, `{"zeta":"z"}`)
	r := d.asked()
	if page, host := b.get(r.URL), strings.TrimPrefix(other.URL, "http://"); !strings.Contains(page.body, host) {
		t.Errorf("the page leads to %s, want %s", page.body, host)
	}
	b.press(r.URL, "dismiss")
	d.wait(ended)
}

func TestSomebodyElseCannotConnect(t *testing.T) { // I-057
	g := newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	ended := d.call("linear_echo", contract.Caller{}, `{}`)
	r := d.asked()
	stranger := newBrowser(t)
	stranger.who = "mallory"
	for name, page := range map[string]seen{"opened": stranger.get(r.URL), "connected": stranger.press(r.URL, "connect"), "dismissed": stranger.press(r.URL, "dismiss")} {
		if page.status != http.StatusForbidden {
			t.Errorf("%s by somebody else: %d, want 403", name, page.status)
		}
	}
	// The link to which the authorization server sends the browser back is also for
	// one person only.
	mine := newBrowser(t)
	mine.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == callbackPath {
			return http.ErrUseLastResponse
		}
		return nil
	}
	at := mine.press(r.URL, "connect")
	back := at.header.Get("Location")
	if page := stranger.get(back); page.status != http.StatusForbidden {
		t.Errorf("the way back of somebody else: %d, want 403", page.status)
	}
	if again, err := d.hub.Get(t.Context(), r.ID); err != nil || again.Status != elicit.Open {
		t.Errorf("request = %+v, %v; want it open still", again.Status, err)
	}
	d.answer(r.ID, elicit.Decline)
	d.wait(ended)
}

func TestWayBackIsChecked(t *testing.T) {
	g := newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	ended := d.call("linear_echo", contract.Caller{}, `{"zeta":"z"}`)
	r := d.asked()
	b := newBrowser(t)
	g.issParam = "https://evil.example"
	if page := b.press(r.URL, "connect"); page.status == 200 || !strings.Contains(page.body, "does not come from") {
		t.Errorf("with another issuer: %d %s", page.status, page.body)
	}
	g.issParam, g.deny = "", true
	if page := b.press(r.URL, "connect"); !strings.Contains(page.body, "did not let you in") || !strings.Contains(page.body, ">Dismiss</button>") || !strings.Contains(page.body, `action="/connect/`+r.ID+`"`) {
		t.Errorf("after a no there: %s\nwant a form that goes to the page of the request", page.body)
	}
	g.deny = false
	done := b.press(r.URL, "connect")
	if !strings.Contains(done.body, "is connected") {
		t.Errorf("after all: %s", done.body)
	}
	d.wait(ended)
	if page := b.get(d.front.URL + "/connect/callback?code=x&state=made-up"); page.status != http.StatusConflict {
		t.Errorf("a state that was made up: %d, want 409", page.status)
	}
	state := g.requests[len(g.requests)-1].Get("state")
	if page := b.get(d.front.URL + "/connect/callback?code=x&state=" + state); page.status != http.StatusConflict {
		t.Errorf("a state that was used: %d, want 409", page.status)
	}
}

func TestFormsWithoutTheirTokenDoNothing(t *testing.T) {
	g := newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	ended := d.call("linear_echo", contract.Caller{}, `{}`)
	r := d.asked()
	if page := newBrowser(t).press(r.URL, "dismiss", "token", "forged"); page.status != http.StatusForbidden {
		t.Errorf("a forged form: %d, want 403", page.status)
	}
	d.answer(r.ID, elicit.Decline)
	d.wait(ended)
}

func TestSignInSurvivesTheServer(t *testing.T) { // I-003
	g := newGuard(t)
	g.onlyCalls = true
	dir := t.TempDir()
	d := at(t, dir, nil, userScoped(g))
	tool := d.tool("linear_echo")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { _, _ = tool.Call(ctx, contract.Caller{}, nil); close(ended) }()
	r := d.asked()
	b := newBrowser(t)
	b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == callbackPath {
			return http.ErrUseLastResponse
		}
		return nil
	}
	back, err := url.Parse(b.press(r.URL, "connect").header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
	d.end() // between consent and the redirect back
	d = at(t, dir, nil, userScoped(g))
	d2, _ := url.Parse(d.front.URL)
	back.Host = d2.Host
	b.CheckRedirect = nil
	page := b.get(back.String())
	if page.status != 200 || !strings.Contains(page.body, "is connected") {
		t.Errorf("the way back to a new server: %d %s", page.status, page.body)
	}
	if o := d.now("linear_echo", `{"zeta":"z"}`); o.text() != `{"zeta":"z"}` {
		t.Errorf("the call = %s", o.text())
	}
}

func TestKeysGoThroughThePageAlone(t *testing.T) {
	g := newGuard(t)
	g.onlyCalls = true
	g.valid["key-1234567890"] = true
	u := userScoped(g)
	u.Auth = Auth{Kind: Key}
	d := at(t, t.TempDir(), nil, u)
	ended := d.call("linear_echo", contract.Caller{Name: "agent"}, `{"zeta":"z"}`)
	r := d.asked()
	if len(r.Questions) != 0 || r.Mode != elicit.URL {
		t.Errorf("request = %+v, want a link and no question for a key", r)
	}
	b := newBrowser(t)
	if page := b.press(r.URL, "connect", "key", " "); page.status != http.StatusUnprocessableEntity {
		t.Errorf("an empty key: %d, want 422", page.status)
	}
	page := b.press(r.URL, "connect", "key", " key-1234567890\n")
	if !strings.Contains(page.body, "is connected") || strings.Contains(page.body, "key-1234567890") {
		t.Errorf("after a key: %s", page.body)
	}
	if o := d.wait(ended); o.text() != `{"zeta":"z"}` {
		t.Errorf("the call = %s", o.text())
	}
}

func TestOldAddressOfThePageReadsTheIDAlone(t *testing.T) { // I-056 I-058
	g := newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	ended := d.call("linear_echo", contract.Caller{}, `{}`)
	r := d.asked()
	b := newBrowser(t)
	old := func(back string) seen {
		return b.get(d.front.URL + "/auth/connect?" + url.Values{"toolId": {"t"}, "userId": {"mallory"}, "elicitationId": {r.ID}, "returnUrl": {back}}.Encode())
	}
	for _, back := range []string{"https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.example"} {
		if page := old(back); page.status != http.StatusBadRequest {
			t.Errorf("returnUrl %s: %d, want 400", back, page.status)
		}
	}
	for _, back := range []string{"", "/inbox/x", d.front.URL + "/inbox/x"} {
		page := old(back)
		if page.status != 200 || page.url.Path != Path+r.ID || back != "" && page.url.Query().Get("return") != "/inbox/x" {
			t.Errorf("returnUrl %q leads to %d %s", back, page.status, page.url)
		}
	}
	done := b.press(d.front.URL+Path+r.ID+"?return=%2Finbox%2Fx", "connect")
	if !strings.Contains(done.body, `href="/inbox/x"`) {
		t.Errorf("after connecting: %s, want the way back", done.body)
	}
	d.wait(ended)
}

func TestProviderThatIsDownIsToldOnThePage(t *testing.T) {
	g := newGuard(t)
	g.onlyCalls = true
	u := userScoped(g)
	u.Auth.Issuer = "http://127.0.0.1:9"
	d := at(t, t.TempDir(), nil, u)
	ended := d.call("linear_echo", contract.Caller{}, `{}`)
	r := d.asked()
	page := newBrowser(t).get(r.URL)
	if !strings.Contains(page.body, "cannot determine where to sign in for Linear") && !strings.Contains(page.body, "Cannot determine where to sign in for Linear") || !strings.Contains(page.body, "Try again") {
		t.Errorf("the page = %s, want that the provider is down", page.body)
	}
	d.answer(r.ID, elicit.Decline)
	d.wait(ended)
}

func TestClientsThatWereRegisteredByHandAreUsed(t *testing.T) {
	g := newGuard(t)
	g.onlyCalls, g.noDCR = true, true
	u := userScoped(g)
	u.Auth = Auth{ClientID: "by-hand", OmitResource: false, Params: map[string]string{"prompt": "consent"}, Scopes: []string{"issues"}}
	d := at(t, t.TempDir(), nil, u)
	ended := d.call("linear_echo", contract.Caller{}, `{"zeta":"z"}`)
	newBrowser(t).press(d.asked().URL, "connect")
	d.wait(ended)
	q := g.requests[0]
	if q.Get("client_id") != "by-hand" || q.Get("prompt") != "consent" || q.Get("scope") != "issues" || g.noted("register") != 0 {
		t.Errorf("authorization request = %v, want the client and parameters of the configuration", q)
	}
}

func TestNoSecretIsShownAnywhere(t *testing.T) { // I-013 I-059
	g := newGuard(t)
	g.onlyCalls, g.lifetime = true, 3600
	dir := t.TempDir()
	var told []string
	var mu sync.Mutex
	d := at(t, dir, nil, userScoped(g))
	ended := d.call("linear_echo", contract.Caller{Progress: func(_ context.Context, p contract.Progress) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, p.Message)
	}}, `{"zeta":"z"}`)
	r := d.asked()
	page := newBrowser(t).press(r.URL, "connect")
	d.wait(ended)
	d.ages(t)
	g.mu.Lock()
	g.reject = true
	g.mu.Unlock()
	ended = d.call("linear_echo", contract.Caller{}, `{}`)
	second := newBrowser(t).press(d.asked().URL, "connect")
	failed := d.wait(ended)
	list, err := d.Connections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	history, err := d.hub.List(t.Context(), elicit.Filter{Statuses: []elicit.Status{elicit.Completed, elicit.Open, elicit.ExpiredOpen}})
	if err != nil {
		t.Fatal(err)
	}
	for place, text := range map[string]string{"log": d.log.String(), "page": page.body + second.body, "error": failed.text(), "progress": strings.Join(told, "\n"),
		"connections": fmt.Sprintf("%+v", list), "requests": fmt.Sprintf("%+v", history), "store": folder(t, dir)} {
		for _, secret := range []string{"access-secret", "refresh-secret", "code_verifier=", "code-1", "AGE-SECRET-KEY"} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s shows %q", place, secret)
			}
		}
	}
}

func TestMoreScopesAreAskedForWithThoseThatThereAre(t *testing.T) {
	g := newGuard(t)
	g.onlyCalls = true
	d := at(t, t.TempDir(), nil, userScoped(g))
	ended := d.call("linear_echo", contract.Caller{}, `{"zeta":"z"}`)
	newBrowser(t).press(d.asked().URL, "connect")
	d.wait(ended)
	g.mu.Lock()
	g.wants = "admin"
	g.mu.Unlock()
	ended = d.call("linear_echo", contract.Caller{}, `{"zeta":"more"}`)
	r := d.asked()
	g.mu.Lock()
	g.wants = ""
	g.mu.Unlock()
	newBrowser(t).press(r.URL, "connect")
	if o := d.wait(ended); o.text() != `{"zeta":"more"}` {
		t.Errorf("the call = %s", o.text())
	}
	if got, want := g.requests[1].Get("scope"), "admin read"; got != want {
		t.Errorf("the second sign-in asks for %q, want %q", got, want)
	}
}

func TestClientMetadataDocumentIsServedWhereItCanBeRead(t *testing.T) {
	d := at(t, t.TempDir(), func(o *Options) {
		o.Base = func(context.Context) (string, error) { return "https://desk.example", nil }
	}, Upstream{Name: "a", URL: "http://127.0.0.1:9"})
	w := httptest.NewRecorder()
	d.Public()["GET "+clientPath].ServeHTTP(w, httptest.NewRequest("GET", clientPath, nil))
	for _, want := range []string{`"client_id":"https://desk.example/connect/client.json"`, `"redirect_uris":["https://desk.example/connect/callback"]`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the document %s lacks %s", w.Body, want)
		}
	}
	p := &provider{meta: &oauthex.AuthServerMeta{ClientIDMetadataDocumentSupported: true}}
	for redirect, want := range map[string]string{"https://desk.example" + callbackPath: "https://desk.example" + clientPath} {
		if got, err := d.upstreams[0].clientAt(t.Context(), nil, p, redirect); err != nil || got.ID != want {
			t.Errorf("clientAt(%s) = %+v, %v; want %s", redirect, got, err, want)
		}
	}
}

func TestCredentialGoesToItsUpstreamAlone(t *testing.T) {
	got := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header.Get("Authorization") }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	d := at(t, t.TempDir(), nil, Upstream{Name: "linear", URL: server.URL, Scope: UserScope, Auth: Auth{Kind: Key}, Headers: map[string]string{"X-Own": "own-secret"}})
	if err := d.Connect(t.Context(), "linear", "key-1234567890"); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the redirect is refused", func() (bool, any) {
		log := d.log.String()
		return strings.Contains(log, "must not get its credential"), log
	})
	if len(got) != 0 {
		t.Errorf("another host got a request with %q", <-got)
	}
}

func BenchmarkCredentialOfACall(b *testing.B) {
	dir := b.TempDir()
	db, err := store.Open(b.Context(), dir, elicit.Schema(), Schema())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	g, err := New(Options{StateDir: dir, Upstreams: []Upstream{{Name: "linear", URL: "http://127.0.0.1:9", Scope: UserScope}},
		Open: func(context.Context) (*elicit.Hub, *store.DB, error) { return nil, db, nil }})
	if err != nil {
		b.Fatal(err)
	}
	v, err := g.open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if err := v.put(b.Context(), "linear", "local", &Credential{Kind: OAuth, Access: "a", Refresh: "r"}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if c, err := g.upstreams[0].usable(b.Context()); err != nil || c == nil {
			b.Fatal(c, err)
		}
	}
}
