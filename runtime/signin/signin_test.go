package signin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/people"
	. "github.com/deskhand/deskhand/runtime/signin"
	"github.com/deskhand/deskhand/runtime/signin/signintest"
)

const redirect = "http://127.0.0.1/login/oidc/callback"

func client(p *signintest.Provider) *Provider {
	return New(Options{Issuer: p.URL, ClientID: signintest.ClientID, Secret: signintest.Secret})
}

// visit begins a sign-in and returns what the browser brings back.
func visit(t *testing.T, c *Provider) (Flow, Returned) {
	t.Helper()
	page, flow, err := c.Start(t.Context(), redirect, "/work")
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := browser.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	back, err := url.Parse(response.Header.Get("Location"))
	if err != nil || response.StatusCode != http.StatusFound {
		t.Fatal(response.Status, err)
	}
	return flow, Returned{State: back.Query().Get("state"), Code: back.Query().Get("code"), Issuer: back.Query().Get("iss")}
}

func TestASignInTellsWhoItIs(t *testing.T) {
	p := signintest.New(t)
	p.Claims = map[string]any{"sub": "7", "preferred_username": "ada", "groups": []string{"dev", "ops"}}
	c := client(p)
	flow, back := visit(t, c)
	who, err := c.Finish(t.Context(), redirect, flow, back)
	if want := (Identity{Issuer: p.URL, Subject: "7", Name: "ada", Groups: []string{"dev", "ops"}}); err != nil || !reflect.DeepEqual(who, want) {
		t.Errorf("%+v, %v", who, err)
	}
	if flow.To != "/work" {
		t.Errorf("to %s", flow.To)
	}
	if _, err := c.Finish(t.Context(), redirect, flow, back); code(err) != Refused {
		t.Errorf("the same code again: %v", err)
	}
}

func code(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Code
	}
	return ""
}

// Claims that only the provider's page about the user has are read there, if it is about the
// same user.
func TestGroupsMayBeOnThePageAboutTheUser(t *testing.T) {
	p := signintest.New(t)
	p.Claims = map[string]any{"sub": "7"}
	c := client(p)
	for subject, want := range map[string][]string{"7": {"dev"}, "8": nil} {
		p.Info = map[string]any{"sub": subject, "preferred_username": "ada", "groups": "dev"}
		flow, back := visit(t, c)
		who, err := c.Finish(t.Context(), redirect, flow, back)
		if err != nil || !slices.Equal(who.Groups, want) {
			t.Errorf("a page about %s: %+v, %v", subject, who, err)
		}
	}
}

func TestWrongAnswersOfAProvider(t *testing.T) {
	set := func(name string, v any) func(*signintest.Provider) {
		return func(p *signintest.Provider) { p.Change = func(_, claims map[string]any) { claims[name] = v } }
	}
	for what, c := range map[string]struct {
		provider func(*signintest.Provider)
		browser  func(*Flow, *Returned)
	}{
		"another audience":            {provider: set("aud", "another")},
		"two audiences and no party":  {provider: set("aud", []string{signintest.ClientID, "another"})},
		"another party":               {provider: set("azp", "another")},
		"another issuer in the token": {provider: set("iss", "https://issuer.example")},
		"another nonce":               {provider: set("nonce", "another")},
		"no nonce":                    {provider: set("nonce", "")},
		"a token that has expired":    {provider: set("exp", time.Now().Add(-time.Hour).Unix())},
		"an access token of another":  {provider: set("at_hash", "AAAAAAAAAAAAAAAAAAAAAA")},
		"no signature, alg none": {provider: func(p *signintest.Provider) {
			p.Unsigned, p.Change = true, func(h, _ map[string]any) { h["alg"] = "none" }
		}},
		"no signature, alg RS256":      {provider: func(p *signintest.Provider) { p.Unsigned = true }},
		"alg HS256":                    {provider: func(p *signintest.Provider) { p.Change = func(h, _ map[string]any) { h["alg"] = "HS256" } }},
		"a key that is not published":  {provider: func(p *signintest.Provider) { p.Foreign = true }},
		"another state":                {browser: func(_ *Flow, r *Returned) { r.State += "x" }},
		"no state on either side":      {browser: func(f *Flow, r *Returned) { f.State, r.State = "", "" }},
		"another issuer in the answer": {browser: func(_ *Flow, r *Returned) { r.Issuer = "https://issuer.example" }},
		"no issuer in the answer of a provider that names itself": {
			provider: func(p *signintest.Provider) { p.NamesItself = true }, browser: func(_ *Flow, r *Returned) { r.Issuer = "" }},
		"no code":          {browser: func(_ *Flow, r *Returned) { r.Code = "" }},
		"another code":     {browser: func(_ *Flow, r *Returned) { r.Code += "x" }},
		"an error":         {browser: func(_ *Flow, r *Returned) { r.Error = "access_denied" }},
		"another verifier": {browser: func(f *Flow, _ *Returned) { f.Verifier += "x" }},
	} {
		t.Run(what, func(t *testing.T) {
			p := signintest.New(t)
			p.Claims = map[string]any{"preferred_username": "ada", "groups": []string{"dev"}}
			if c.provider != nil {
				c.provider(p)
			}
			in := client(p)
			flow, back := visit(t, in)
			if c.browser != nil {
				c.browser(&flow, &back)
			}
			if who, err := in.Finish(t.Context(), redirect, flow, back); code(err) != Refused || !reflect.DeepEqual(who, Identity{}) {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
}

// After a change of the key, the new one is read. A provider that does not answer is read again
// at the next sign-in.
func TestKeysAndProvidersComeBack(t *testing.T) {
	p := signintest.New(t)
	p.Claims = map[string]any{"preferred_username": "ada"}
	c := client(p)
	for range 2 {
		flow, back := visit(t, c)
		if _, err := c.Finish(t.Context(), redirect, flow, back); err != nil {
			t.Fatal(err)
		}
		p.Rotate(t)
	}
	if p.KeyReads != 2 {
		t.Errorf("keys were read %d times", p.KeyReads)
	}
	gone := New(Options{Issuer: "http://127.0.0.1:1", ClientID: "x"})
	if _, _, err := gone.Start(t.Context(), redirect, "/"); code(err) != Unreachable || !fault.Of(err).Retryable {
		t.Errorf("%v", err)
	}
	if other := New(Options{Issuer: strings.Replace(p.URL, "127.0.0.1", "localhost", 1), ClientID: "x"}); other != nil {
		if _, _, err := other.Start(t.Context(), redirect, "/"); code(err) != Unreachable {
			t.Errorf("a configuration that names another issuer: %v", err)
		}
	}
}

func TestWhatGroupsAllow(t *testing.T) {
	o := Options{Groups: map[string]Grant{
		"dev":   {Grant: people.Grant{Scopes: []access.Scope{access.Answer, access.WorkStart}}, Projects: []string{"p"}},
		"ops":   {Grant: people.Grant{Scopes: []access.Scope{access.Answer, access.Admin}, Roles: []string{"ops"}}, Projects: []string{"q"}},
		"guest": {Grant: people.Grant{Scopes: []access.Scope{access.Answer}, Guest: true}},
	}}
	if got := o.Allowed([]string{"others"}); got != nil {
		t.Errorf("no group: %+v", got)
	}
	if got := o.Allowed([]string{"guest", "x"}); got == nil || !got.Guest {
		t.Errorf("a guest: %+v", got)
	}
	got := o.Allowed([]string{"guest", "dev", "ops"})
	want := &Grant{Grant: people.Grant{Scopes: []access.Scope{access.Answer, access.WorkStart, access.Admin}, Roles: []string{"ops"}}, Projects: []string{"p", "q"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if managed := o.Managed(); !slices.Equal(managed, []string{"p", "q"}) {
		t.Errorf("managed %v", managed)
	}
}

// While a provider hangs, each sign-in waits no longer than its browser does, and all of them
// for one request.
func TestAProviderThatHangs(t *testing.T) {
	asked, done := make(chan struct{}, 10), make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{}; <-done }))
	defer hangs.Close()
	defer close(done)
	p := New(Options{Issuer: hangs.URL, ClientID: "x"})
	go p.Start(t.Context(), redirect, "/") //nolint:errcheck // it ends with the test
	<-asked
	left, leave := context.WithCancel(t.Context())
	leave()
	ended := make(chan error)
	for range 5 {
		go func() { _, _, err := p.Start(left, redirect, "/"); ended <- err }()
	}
	for range 5 {
		select {
		case err := <-ended:
			if code(err) != Unreachable {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("a browser that left still waits for the provider")
		}
	}
	if len(asked) != 0 {
		t.Errorf("%d more requests", len(asked))
	}
}
