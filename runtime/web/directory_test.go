package web

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// team starts a server with a route for each scope, and a register with ada and bob.
func team(t *testing.T, more Options) (rt *running, r *people.Register) {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir(), people.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	r = people.In(db)
	for _, name := range []string{"ada", "bob"} {
		if err := r.Add(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
	}
	more.Token, more.People, more.Shell, more.Directory = rightToken, in, page.New([]byte("key")), r
	if more.NoToken {
		more.Token = ""
	}
	more.Access, more.Mounts = map[string]access.Rule{"/any": {Level: access.Agents}}, map[string]http.Handler{}
	for path := range scopedPaths() {
		more.Mounts[path] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("stream") {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				return
			}
			c := access.Of(r.Context())
			fmt.Fprintf(w, "welcome %s by %s", c.Name, c.How)
		})
	}
	for path, scope := range scopedPaths() {
		if scope != "" {
			more.Access[path] = access.Rule{Level: access.People, Scope: scope}
		}
	}
	return run(t, more), r
}

// scopedPaths returns a path for each scope, and one that any caller with a name may use.
func scopedPaths() map[string]access.Scope {
	paths := map[string]access.Scope{"/any": ""}
	for _, scope := range access.Scopes {
		paths["/"+strings.ReplaceAll(string(scope), ":", "-")] = scope
	}
	return paths
}

// bears sends a request with a token.
func bears(t *testing.T, rt *running, path, token string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+rt.addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var b strings.Builder
	if err := response.Write(&b); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, b.String()
}

func TestATokenOpensOnlyWhatItsScopesSay(t *testing.T) {
	rt, r := team(t, Options{})
	for _, has := range access.Scopes {
		secret, _, err := r.CreateToken(t.Context(), "bob", []access.Scope{has}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for path, wants := range scopedPaths() {
			status, body := bears(t, rt, path, secret)
			if wants == "" || wants == has {
				if status != http.StatusOK || !strings.Contains(body, "welcome bob by named-token") {
					t.Errorf("%s with %s: %d\n%s", path, has, status, body)
				}
				continue
			}
			if status != http.StatusForbidden || !strings.Contains(body, `error="insufficient_scope", scope="`+string(wants)+`"`) || strings.Contains(body, secret) {
				t.Errorf("%s with %s: %d\n%s", path, has, status, body)
			}
		}
	}
}

func TestTokensThatOpenNothing(t *testing.T) {
	for name, o := range map[string]Options{"a server with a token": {}, "a server without a token": {NoToken: true}} {
		t.Run(name, func(t *testing.T) {
			rt, r := team(t, o)
			valid, _, err := r.CreateToken(t.Context(), "bob", access.Scopes, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			old, _, err := r.CreateToken(t.Context(), "bob", access.Scopes, time.Now().Add(-time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			revoked, made, err := r.CreateToken(t.Context(), "bob", access.Scopes, time.Time{})
			if err == nil {
				_, err = r.Revoke(t.Context(), made.ID)
			}
			removed, _, err2 := r.CreateToken(t.Context(), "ada", access.Scopes, time.Time{})
			if err != nil || err2 != nil || r.Remove(t.Context(), "ada") != nil {
				t.Fatal(err, err2)
			}
			for what, one := range map[string][2]string{
				"an expired token": {old, people.Expired}, "a revoked token": {revoked, people.Revoked}, "the token of a person who was removed": {removed, people.Revoked},
				"a wrong token": {"dht_AAAAAAAAAAAAAAAAAAAAAAAAAA", people.Unknown}, "half a token": {valid[:len(valid)-3], people.Unknown}, "the ID of a token": {"dht_" + made.ID, people.Unknown},
			} {
				for path := range scopedPaths() {
					status, body := bears(t, rt, path, one[0])
					if one[1] == people.Unknown && status == http.StatusTooManyRequests {
						continue // guesses are limited
					}
					if status != http.StatusUnauthorized || !strings.Contains(body, `"error":"`+one[1]+`"`) {
						t.Errorf("%s at %s: %d\n%s", what, path, status, body)
					}
				}
			}
			if status, body := bears(t, rt, "/any", valid); status != http.StatusOK {
				t.Errorf("a valid token: %d\n%s", status, body)
			}
		})
	}
}

func TestAStreamEndsWithItsToken(t *testing.T) {
	for name, end := range map[string]func(r *people.Register, token string) error{
		"revoked":        func(r *people.Register, token string) error { _, err := r.Revoke(t.Context(), token); return err },
		"person removed": func(r *people.Register, _ string) error { return r.Remove(t.Context(), "bob") },
		"expired":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			rt, r := team(t, Options{})
			expires := time.Time{}
			if end == nil {
				expires = time.Now().Add(time.Second)
			}
			secret, made, err := r.CreateToken(t.Context(), "bob", []access.Scope{access.Answer}, expires)
			if err != nil {
				t.Fatal(err)
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+rt.addr+"/answer?stream", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+secret)
			response, err := http.DefaultClient.Do(request)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatal(response, err)
			}
			defer response.Body.Close()
			if end != nil {
				if err := end(r, made.ID); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			_, _ = bufio.NewReader(response.Body).ReadByte() // returns when the stream ends
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the stream ended after %v", took)
			}
		})
	}
}

var inviteForm = regexp.MustCompile(`name="token" value="([^"]+)"`)

// invited opens an invitation and presses its button.
func invited(t *testing.T, browser *http.Client, link string) (path, body string) {
	t.Helper()
	_, shown := visit(t, browser, link)
	found := inviteForm.FindStringSubmatch(shown)
	at, err := url.Parse(link)
	if err != nil || found == nil {
		t.Fatalf("%v; no form in\n%s", err, shown)
	}
	form := url.Values{"token": {found[1]}, "invite": {at.Query().Get("invite")}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, in.Home("http://"+at.Host)+"/join", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "text/html")
	return finish(t, browser, r)
}

func TestAnInvitationSignsOneBrowserIn(t *testing.T) {
	rt, r := team(t, Options{})
	secret, _, err := r.Invite(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + rt.addr
	link, home := in.InviteLink(base, secret), in.Home(base)
	for range 3 { // programs that look at links do not use them
		if _, body := visit(t, newBrowser(t), link); !strings.Contains(body, "You are invited") {
			t.Fatalf("the link shows\n%s", body)
		}
	}
	browser := newBrowser(t)
	invited(t, browser, link)
	if _, body := visit(t, browser, home+"/answer"); !strings.Contains(body, "welcome ada by invite") {
		t.Fatalf("the browser is not ada's:\n%s", body)
	}
	if _, body := visit(t, browser, home+"/work-start"); !strings.Contains(body, "403 Forbidden") || !strings.Contains(body, "You are signed in as ada, with answer, docs, work:read. This page needs the scope work:start") || strings.Contains(body, "welcome") {
		t.Errorf("without the scope, the browser gets\n%s", body)
	}
	if _, body := invited(t, newBrowser(t), link); !strings.Contains(body, "401 Unauthorized") || !strings.Contains(body, "already used") {
		t.Errorf("the invitation works twice:\n%s", body)
	}
	if err := r.SignOut(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if path, body := visit(t, browser, home+"/answer"); strings.Contains(body, "welcome") || !strings.HasPrefix(path, "/login") {
		t.Errorf("after signing out everywhere, the browser is at %s\n%s", path, body)
	}
}

func TestAnInvitationNeedsItsForm(t *testing.T) {
	rt, r := team(t, Options{})
	secret, _, err := r.Invite(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	home := in.Home("http://" + rt.addr)
	post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, home+"/join", strings.NewReader(url.Values{"invite": {secret}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	browser := newBrowser(t)
	if _, body := finish(t, browser, post); !strings.Contains(body, "403 Forbidden") {
		t.Errorf("another site's form signs a browser in:\n%s", body)
	}
	if _, body := invited(t, browser, in.InviteLink("http://"+rt.addr, secret)); strings.Contains(body, "already used") {
		t.Error("the refused form used the invitation")
	}
}

func TestCookiesOfPeopleCannotBeChanged(t *testing.T) {
	rt, r := team(t, Options{})
	secret, _, err := r.Invite(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	home := in.Home("http://" + rt.addr)
	browser := newBrowser(t)
	invited(t, browser, in.InviteLink("http://"+rt.addr, secret))
	at, err := url.Parse(home)
	if err != nil {
		t.Fatal(err)
	}
	cookie := ""
	for _, c := range browser.Jar.Cookies(at) {
		if c.Name == sessionCookie {
			cookie = c.Value
		}
	}
	now := time.Now().Add(time.Hour)
	host, _ := http.NewRequest(http.MethodGet, home, nil)
	signed := func(id string) string { return pass(rightKey, sessionUse(host), now, id) }
	for what, value := range map[string]string{
		"another name, old signature":   strings.Replace(cookie, "-ada.", "-bob.", 1),
		"no name, old signature":        strings.Replace(cookie, "-1-ada.", ".", 1),
		"another turn":                  strings.Replace(cookie, "-1-ada.", "-2-ada.", 1),
		"signed, of nobody":             signed("1-invite-X-1-carol"),
		"signed, an invite of no one":   signed("1-invite-X"),
		"signed, a link with a name":    signed("1-link-X-1-ada"),
		"signed, an earlier turn":       signed("1-invite-X-0-ada"),
		"signed, in another case":       signed("1-invite-X-1-ADA"),
		"signed, the turn is no number": signed("1-invite-X-y-ada"),
	} {
		other := newBrowser(t)
		other.Jar.SetCookies(at, []*http.Cookie{{Name: sessionCookie, Value: value}})
		if value == cookie {
			t.Fatalf("%s changes nothing in %s", what, cookie)
		}
		if path, body := visit(t, other, home+"/any"); strings.Contains(body, "welcome") {
			t.Errorf("%s: at %s\n%s", what, path, body)
		}
	}
	if _, body := visit(t, browser, home+"/any"); !strings.Contains(body, "welcome ada") {
		t.Errorf("the cookie itself:\n%s", body)
	}
}
