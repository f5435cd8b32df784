package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// A refresh token is kept until the issuer itself rejects it. Otherwise a person
// would have to sign in again.
func TestOnlyTheIssuerEndsACredential(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		kept   bool
	}{
		"the issuer refuses":      {400, `{"error":"invalid_grant"}`, false},
		"refused without a word":  {401, "", false},
		"refused with 200":        {200, `{"error":"bad_refresh_token"}`, false},
		"sign-in page of a hotel": {302, "<html>", true},
		"firewall":                {403, "<html>Blocked</html>", true},
		"moved":                   {404, "not found", true},
		"proxy wants a password":  {407, "", true},
		"too many":                {429, `{"error":"rate_limited"}`, true},
		"down":                    {503, "", true},
		"down, politely":          {400, `{"error":"temporarily_unavailable"}`, true},
		"nonsense":                {200, "<html>Welcome</html>", true},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.status == 302 {
					w.Header().Set("Location", "/welcome")
				}
				if strings.HasPrefix(c.body, "{") {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}))
			defer issuer.Close()
			g := newGuard(t)
			d := at(t, t.TempDir(), nil, userScoped(g))
			old := &Credential{Kind: OAuth, Access: "old", Refresh: "good", Got: time.Now().Add(-time.Hour), Expires: time.Now().Add(-time.Minute),
				TokenURL: issuer.URL, Issuer: issuer.URL, Client: oauthClient{ID: "client-1"}}
			if err := d.vault.put(t.Context(), "linear", "local", old); err != nil {
				t.Fatal(err)
			}
			u := d.named("linear")
			now, err := u.usable(t.Context())
			left, readErr := d.vault.credential(t.Context(), "linear", "local")
			if readErr != nil || (left != nil) != c.kept {
				t.Fatalf("after %d %s: credential %v, %v; want it kept: %v", c.status, c.body, left, readErr, c.kept)
			}
			if f := fault.Of(err); c.kept && (f == nil || f.Code != "sign_in_unreachable" || !f.Retryable) || !c.kept && (now != nil || err != nil) {
				t.Errorf("usable = %v, %v", now, err)
			}
		})
	}
}

// A person who disconnects, connects another account or is removed during a renewal is not
// connected again with the old account.
func TestARenewalBringsNothingBack(t *testing.T) {
	var meanwhile func() error
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := meanwhile(); err != nil {
			t.Error(err)
		}
		writeJSON(w, map[string]any{"access_token": "renewed", "token_type": "Bearer", "expires_in": 3600})
	}))
	defer issuer.Close()
	g := newGuard(t)
	d := at(t, t.TempDir(), nil, userScoped(g))
	for name, c := range map[string]struct {
		meanwhile func() error
		access    string // of the credential afterwards; empty for none
	}{
		"disconnected": {func() error { _, err := d.vault.drop(t.Context(), "linear", "local", 0); return err }, ""},
		"removed": {func() error {
			return d.db.Update(t.Context(), func(tx *store.Tx) error { return Forget(t.Context(), tx, "local") })
		}, ""},
		"connected with another account": {func() error {
			return d.vault.put(t.Context(), "linear", "local", &Credential{Kind: OAuth, Access: "another"})
		}, "another"},
		"nothing": {func() error { return nil }, "renewed"},
	} {
		meanwhile = c.meanwhile
		old := &Credential{Kind: OAuth, Access: "old", Refresh: "good", Got: time.Now().Add(-time.Hour), Expires: time.Now().Add(-time.Minute),
			TokenURL: issuer.URL, Issuer: issuer.URL, Client: oauthClient{ID: "client-1"}}
		if err := d.vault.put(t.Context(), "linear", "local", old); err != nil {
			t.Fatal(err)
		}
		now, err := d.named("linear").usable(t.Context())
		left, readErr := d.vault.credential(t.Context(), "linear", "local")
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		for where, got := range map[string]*Credential{"the call": now, "the store": left} {
			if (got == nil) != (c.access == "") || got != nil && got.Access != c.access {
				t.Errorf("%s during a renewal: %s has %+v, want %q", name, where, got, c.access)
			}
		}
	}
}

func TestAnIssuerThatIsAwayForAMomentCostsNoSignIn(t *testing.T) {
	g := newGuard(t)
	g.onlyCalls = true
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer away.Close()
	d := at(t, t.TempDir(), nil, userScoped(g))
	revoked := &Credential{Kind: OAuth, Access: "revoked", Refresh: "good", Got: time.Now(), Expires: time.Now().Add(time.Hour),
		TokenURL: away.URL, Issuer: g.URL, Client: oauthClient{ID: "client-1"}}
	if err := d.vault.put(t.Context(), "linear", "local", revoked); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := d.tool("linear_echo").Call(ctx, contract.Caller{}, []byte(`{"zeta":"z"}`))
	if f := fault.Of(err); f == nil || f.Code != "sign_in_unreachable" {
		t.Errorf("a call whose token was refused = %v, want sign_in_unreachable", err)
	}
	if left, err := d.vault.credential(t.Context(), "linear", "local"); err != nil || left == nil {
		t.Errorf("credential = %v, %v; want it kept", left, err)
	}
}

// swapping replaces the upstream's credential just before each request.
type swapping struct {
	u    *upstream
	old  *Credential
	next http.RoundTripper
}

func (s swapping) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		s.u.current.Store(s.old)
	}
	return s.next.RoundTrip(r)
}

// A call uses the credential that it read. Another call, which read an older one
// just before, must not change it. Otherwise the upstream would refuse the call,
// and in the end a good credential would be discarded.
func TestParallelCallsDoNotSwapCredentials(t *testing.T) {
	g := newGuard(t)
	d := at(t, t.TempDir(), nil, userScoped(g))
	ended := d.call("linear_connect", contract.Caller{Name: "agent"}, `{}`)
	newBrowser(t).press(d.asked().URL, "connect")
	d.wait(ended)
	d.tool("linear_echo")
	u := d.upstreams[0]
	u.http.Transport = swapping{u, &Credential{Kind: OAuth, Access: "access-secret-old", rev: 1}, u.http.Transport}
	var all []<-chan outcome
	for range 10 {
		all = append(all, d.call("linear_echo", contract.Caller{Name: "agent"}, `{"zeta":"z"}`))
	}
	for _, ended := range all {
		if got := d.wait(ended).text(); got != `{"zeta":"z"}` {
			t.Errorf("the call = %s", got)
		}
	}
	if n := g.noted("stale tools/call"); n != 0 {
		t.Errorf("%d calls went with the credential of another", n)
	}
	u.use(nil)
	u.use(&Credential{rev: 9})
	if got := u.use(&Credential{rev: 8}); u.current.Load().rev != 9 || got.rev != 8 {
		t.Errorf("requests go with revision %d after 9 and 8, want 9", u.current.Load().rev)
	}
}
