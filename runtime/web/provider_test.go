package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/signin"
	"github.com/deskhand/deskhand/runtime/signin/signintest"
)

// signing is a front whose people sign in with a provider.
type signing struct {
	*running
	provider *signintest.Provider
	people   *people.Register
	noted    noted
	grant    *people.Grant // what the groups of whoever signs in allow
}

// noted is a ledger that keeps its notes.
type noted struct {
	memory
	mu  sync.Mutex
	all []string
}

func (n *noted) Note(_ context.Context, action, who, how, outcome string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, action+" "+who+" "+how+" "+outcome)
}

func signsIn(t *testing.T) *signing {
	t.Helper()
	s := &signing{provider: signintest.New(t), grant: &people.Grant{Scopes: people.Standard}}
	var r *people.Register
	o := Options{AllowedHosts: []string{"desk.example"}, Ledger: &s.noted, Provider: &Provider{Address: "http://desk.example",
		Provider: signin.New(signin.Options{Issuer: s.provider.URL, ClientID: signintest.ClientID, Secret: signintest.Secret}),
		Arrive: func(ctx context.Context, who signin.Identity) (string, int64, error) {
			return r.Arrive(ctx, people.Arrival{Issuer: who.Issuer, Subject: who.Subject, Name: who.Name, Grant: s.grant})
		}}}
	s.running, s.people = team(t, o)
	r = s.people
	s.provider.Claims = map[string]any{"sub": "1", "preferred_username": "carol"}
	return s
}

// window is a browser that finds the front under its public name.
func (s *signing) window(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == "desk.example:80" {
			addr = s.addr
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport}
}

func (s *signing) opens(t *testing.T, browser *http.Client, path string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://desk.example"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	response, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestAPersonSignsInWithTheProvider(t *testing.T) {
	s := signsIn(t)
	browser := s.window(t)
	if status, body := s.opens(t, browser, "/any"); status != http.StatusOK || !strings.Contains(body, `href="/login/oidc?to=%2Fany"`) {
		t.Fatalf("the sign-in page = %d %s", status, body)
	}
	if status, body := s.opens(t, browser, "/login/oidc?to=%2Fany"); status != http.StatusOK || body != "welcome carol by oidc" {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := s.opens(t, browser, "/admin"); status != http.StatusForbidden {
		t.Errorf("a scope that no group gives: %d %s", status, body)
	}
	s.provider.Claims["preferred_username"] = "renamed" // the subject counts
	if _, body := s.opens(t, s.window(t), "/login/oidc?to=%2Fany"); body != "welcome carol by oidc" {
		t.Errorf("under another name: %s", body)
	}
	if err := s.people.SignOut(t.Context(), "carol"); err != nil {
		t.Fatal(err)
	}
	if _, body := s.opens(t, browser, "/any"); !strings.Contains(body, "Sign in") {
		t.Errorf("after the sign-out: %s", body)
	}
	s.opens(t, browser, "/login/oidc?to=%2Fany")
	s.grant = nil
	if status, body := s.opens(t, s.window(t), "/login/oidc"); status != http.StatusForbidden || !strings.Contains(body, "No group of") {
		t.Errorf("without a group: %d %s", status, body)
	}
	if _, body := s.opens(t, browser, "/any"); strings.Contains(body, "welcome") {
		t.Errorf("the older session of a person whose groups allow nothing now: %s", body)
	}
	s.grant = &people.Grant{Scopes: people.Standard}
	if err := s.people.Remove(t.Context(), "carol"); err != nil {
		t.Fatal(err)
	}
	if status, body := s.opens(t, s.window(t), "/login/oidc"); status != http.StatusForbidden || !strings.Contains(body, "was removed") {
		t.Errorf("a person who was removed: %d %s", status, body)
	}
}

func TestSignInsThatAreRefused(t *testing.T) {
	s := signsIn(t)
	// The answer of one browser's sign-in is brought by another browser, then twice by its own.
	first := s.window(t)
	var back string
	first.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.Path, "/login/oidc/callback") {
			back = r.URL.RequestURI()
			return http.ErrUseLastResponse
		}
		return nil
	}
	s.opens(t, first, "/login/oidc")
	if back == "" {
		t.Fatal("the provider sent nobody back")
	}
	if status, body := s.opens(t, s.window(t), back); status != http.StatusForbidden || !strings.Contains(body, "did not begin") {
		t.Errorf("another browser: %d %s", status, body)
	}
	if status, _ := s.opens(t, first, back); status == http.StatusForbidden {
		t.Errorf("its own browser: %d", status)
	}
	if status, _ := s.opens(t, first, back); status != http.StatusForbidden {
		t.Errorf("its own browser again: %d", status)
	}
	for name, want := range map[string]string{"ada": "belongs to a person who does not sign in", "local": "has a meaning of its own", "a b": "is not a name for a person", "": "is not a name for a person"} {
		s.provider.Claims = map[string]any{"sub": "for " + name, "preferred_username": name}
		browser := s.window(t)
		if status, body := s.opens(t, browser, "/login/oidc"); status != http.StatusForbidden || !strings.Contains(body, want) {
			t.Errorf("the name %q: %d %s", name, status, body)
		}
		if _, body := s.opens(t, browser, "/any"); strings.Contains(body, "welcome") {
			t.Errorf("the name %q is in: %s", name, body)
		}
	}
	s.provider.Claims = map[string]any{"preferred_username": "carol", "nonce": "another"}
	if status, body := s.opens(t, s.window(t), "/login/oidc"); status != http.StatusForbidden || !strings.Contains(body, "nonce") {
		t.Errorf("a wrong nonce: %d %s", status, body)
	}
	s.provider.Close()
	if _, body := s.opens(t, s.window(t), "/login"); !strings.Contains(body, "Sign in") {
		t.Errorf("without the provider: %s", body)
	}
}

// Of several windows at the same time, each gets its own sign-in, and a person is added once.
func TestConcurrentSignIns(t *testing.T) {
	s := signsIn(t)
	failed := make(chan error, 4)
	for range cap(failed) {
		browser := s.window(t)
		go func() {
			r, err := http.NewRequest(http.MethodGet, "http://desk.example"+"/login/oidc?to=%2Fany", nil)
			if err != nil {
				failed <- err
				return
			}
			response, err := browser.Do(r)
			if err == nil {
				text, _ := io.ReadAll(response.Body) // what was read is compared
				if response.Body.Close(); string(text) != "welcome carol by oidc" {
					err = errors.New(string(text))
				}
			}
			failed <- err
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if all, err := s.people.List(t.Context()); err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestTheHeaderOfAProxy(t *testing.T) {
	for what, c := range map[string]struct {
		from    string
		headers []string
		want    string
	}{
		"a listed address":               {"127.0.0.1/32", []string{"ada"}, "welcome ada by proxy"},
		"in another case":                {"127.0.0.0/8", []string{"ADA"}, "welcome ada by proxy"},
		"an address that is not listed":  {"10.0.0.0/8", []string{"ada"}, ""},
		"nobody of this installation":    {"127.0.0.1/32", []string{"zoe"}, ""},
		"two headers":                    {"127.0.0.1/32", []string{"ada", "bob"}, ""},
		"no header":                      {"127.0.0.1/32", nil, ""},
		"an empty header":                {"127.0.0.1/32", []string{""}, ""},
		"the owner's name of no person":  {"127.0.0.1/32", []string{"local"}, ""},
		"a listed address of IPv6 alone": {"::1/128", []string{"ada"}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			var r *people.Register
			rt, register := team(t, Options{Proxy: Proxy{Header: "X-Forwarded-User", From: []netip.Prefix{netip.MustParsePrefix(c.from)},
				Known: func(ctx context.Context, name string) (access.Caller, int64, bool, error) { return r.Known(ctx, name) }}})
			r = register
			send := func() string {
				t.Helper()
				u := url.URL{Scheme: "http", Host: rt.addr, Path: "/any"}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.String(), nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header["X-Forwarded-User"] = c.headers
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				text, err := io.ReadAll(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				if response.StatusCode != http.StatusOK {
					return ""
				}
				return string(text)
			}
			if got := send(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if c.want == "" {
				return
			}
			if err := r.Remove(t.Context(), "ada"); err != nil {
				t.Fatal(err)
			}
			if got := send(); got != "" {
				t.Errorf("after the removal: %q", got)
			}
		})
	}
}

// Sign-ins that fail are limited before they are written down or their answers reach the
// provider. Those that succeed are not.
func TestSignInsThatFailAreLimited(t *testing.T) {
	s := signsIn(t)
	for range 2 * triesOfAddress {
		if _, body := s.opens(t, s.window(t), "/login/oidc?to=%2Fany"); body != "welcome carol by oidc" {
			t.Fatalf("a good sign-in: %s", body)
		}
	}
	s.provider.Claims["nonce"] = "another"
	for n := range triesOfAddress + 1 {
		want := http.StatusForbidden
		if n == triesOfAddress {
			want = http.StatusTooManyRequests
		}
		if status, body := s.opens(t, s.window(t), "/login/oidc"); status != want {
			t.Fatalf("sign-in %d: %d %s", n, status, body)
		}
	}
}

// Behind a proxy, all strangers have its address. What they can send without the provider locks
// nobody out: wrong keys, and returns from sign-ins that no browser began here.
func TestAttackDoorsGuessingLocksNoSignInWithTheProviderOut(t *testing.T) {
	s := signsIn(t)
	stranger := s.window(t)
	_, page := s.opens(t, stranger, "/login")
	form := url.Values{"token": {formToken.FindStringSubmatch(page)[1]}, "key": {"a-guess-a-guess-a-guess"}}
	for range triesOfAddress + 1 {
		posts(t, stranger, "http://desk.example/login", form)
		s.opens(t, stranger, "/login/oidc/callback?state=x&code=y")
	}
	if response := posts(t, stranger, "http://desk.example/login", form); response.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("the wrong key is answered %s, so the test shows nothing", response.Status)
	}
	if status, body := s.opens(t, s.window(t), "/login/oidc?to=%2Fany"); body != "welcome carol by oidc" {
		t.Errorf("a sign-in meanwhile: %d %s", status, body)
	}
}

// A refused sign-in is in the audit log. The failures of a provider that does not answer, and
// those over the limit, are not.
func TestRefusedSignInsAreNoted(t *testing.T) {
	s := signsIn(t)
	one := "session.began stranger oidc refused"
	refusals := 0
	check := func(what string) {
		t.Helper()
		refusals++
		if want := slices.Repeat([]string{one}, refusals); !slices.Equal(s.noted.all, want) {
			t.Fatalf("%s: the audit log has %q, want %q", what, s.noted.all, want)
		}
	}
	s.opens(t, s.window(t), "/login/oidc/callback?state=x&code=y")
	check("a state of no sign-in")
	s.provider.Claims = map[string]any{"sub": "2", "preferred_username": "ada"}
	s.opens(t, s.window(t), "/login/oidc")
	check("a name that is taken")
	s.provider.Claims = map[string]any{"sub": "3", "preferred_username": "carol", "nonce": "another"}
	s.opens(t, s.window(t), "/login/oidc")
	check("another nonce")
	s.provider.Claims, s.grant = map[string]any{"sub": "3", "preferred_username": "carol"}, nil
	s.opens(t, s.window(t), "/login/oidc")
	check("no group")
	for range 2 * triesOfAddress {
		s.opens(t, s.window(t), "/login/oidc/callback?state=x")
	}
	if n, want := len(s.noted.all), refusals-1+triesOfAddress; n != want { // the first one was of this kind
		t.Errorf("%d notes, want %d: those before, and %d of this kind", n, want, triesOfAddress)
	}
}
