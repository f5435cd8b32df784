package main

import (
	"net"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// Two servers that clients have started for themselves are to have their pages
// at one address: the first has them, and leads to the requests of both.
func TestOneAddressOfPagesServesAllProcesses(t *testing.T) {
	k := newKeyed(t, "key")
	address := "127.0.0.1:" + freePort(t)
	file, state := configured(t, "connect: {address: '"+address+"'}\nupstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	hub := inboxOf(t, state)
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, Timeout: patience}
	for range 2 {
		session := dialFrom(t, "2025-11-25", file, state, nil)
		answers := make(chan string, 1)
		go func() { answers <- called(t, session, "linear_issues") }()
		r := oneOpen(t, hub)
		if !strings.HasPrefix(r.URL, "http://"+address+"/connect/") {
			t.Fatalf("the page is %s, want it at %s", r.URL, address)
		}
		page := opened(t, browser, r.URL)
		if strings.Contains(page, "Sign in to deskhand") {
			signIn(t, browser, r.URL, state)
			page = opened(t, browser, peopleOf(t, state).Home(r.URL))
		}
		if !strings.Contains(page, "Connect Linear") {
			t.Errorf("the page says %s", page)
		}
		decline(t, hub, r)
		if got := come(t, answers); !strings.HasPrefix(got, "Authentication required") {
			t.Errorf("the call = %s", got)
		}
	}
}

func decline(t *testing.T, hub *elicit.Hub, r elicit.Request) {
	t.Helper()
	if _, err := hub.Dispatch(t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Decline}); err != nil {
		t.Fatal(err)
	}
}

// The pages of a process that has no port of its own for them are those of a
// server over HTTP.
func TestAddressForBrowsersNeedsNoPort(t *testing.T) {
	k := newKeyed(t, "key")
	file, state := configured(t, "connect: {url: 'http://desk.example:1'}\nupstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	session := dialFrom(t, "2025-11-25", file, state, nil)
	hub, answers := inboxOf(t, state), make(chan string, 1)
	go func() { answers <- called(t, session, "linear_issues") }()
	r := oneOpen(t, hub)
	if !strings.HasPrefix(r.URL, "http://desk.example:1/connect/") {
		t.Errorf("the page is %s, want it at http://desk.example:1", r.URL)
	}
	decline(t, hub, r)
	come(t, answers)
}

// Behind a proxy that speaks TLS the cookies of a browser go over TLS alone; who
// comes to the server itself has no TLS.
func TestCookiesBehindAProxyAreSecure(t *testing.T) {
	k := newKeyed(t, "key")
	file, state := configured(t, "connect: {url: 'https://desk.example'}\nupstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	s := socketOf(t, exec.Command("deskhand", "serve", "--http", "127.0.0.1:0", "--tools", "ask", "--config", file, "--state", state))
	base := strings.TrimSuffix(s.url, "/mcp")
	for host, secure := range map[string]bool{"desk.example": true, strings.TrimPrefix(peopleOf(t, state).Home(base), "http://"): false} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, peopleOf(t, state).LoginLink(base, "/"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		cookies := answer.Cookies()
		if len(cookies) == 0 {
			t.Errorf("at %s: %s and no cookie", host, answer.Status)
		}
		for _, c := range cookies {
			if c.Secure != secure {
				t.Errorf("at %s: %v, want secure %v", host, c, secure)
			}
		}
	}
}

// A stranger at the address is not led to.
func TestAForeignServerAtTheAddressHasNoPages(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stranger := &http.Server{Handler: http.NotFoundHandler()}
	go stranger.Serve(l)
	defer stranger.Close()
	k := newKeyed(t, "key")
	file, state := configured(t, "connect: {address: '"+l.Addr().String()+"'}\nupstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	if got := called(t, dialFrom(t, "2025-11-25", file, state, nil), "linear_issues"); !strings.Contains(got, "requires user authentication") {
		t.Errorf("the call = %s, want that nobody can connect", got)
	}
}
