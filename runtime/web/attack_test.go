package web

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/waittest"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// guarded starts a server with additional routes.
func guarded(t *testing.T, more Options) *running {
	t.Helper()
	ok := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			fmt.Fprintf(w, "welcome %s %s", access.Of(r.Context()).Level, access.Of(r.Context()).How)
		}
	})
	more.Token, more.People, more.Shell = rightToken, in, page.New([]byte("key"))
	chunk := make([]byte, 64<<10)
	big := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 256 { // far more than a socket buffers
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	more.Mounts = map[string]http.Handler{"/mcp": ok, "/in": ok, "/answer/{code}": ok, "/big": big}
	more.Access = map[string]access.Rule{"/mcp": {Level: access.Agents}, "/answer/{code}": {}, "/big": {}} // /in is for people, because no other level is given
	return run(t, more)
}

// Before a sign-in nothing may be expensive. Slow strangers keep no one out,
// whatever route they use.
func TestAttackDoorsSlowStrangersKeepNobodyOut(t *testing.T) {
	const most = 32
	post := func(path, more string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n" + more + "\r\n"
	}
	for name, begin := range map[string]string{
		"a form to sign in":            post("/login", "Content-Length: 1000\r\n") + "k",
		"a form to sign in, in chunks": post("/login", "Transfer-Encoding: chunked\r\n") + "1\r\nk\r\n",
		"the press of a link":          post("/answer/x", "Content-Length: 1000\r\n") + "k",
		"a call with a wrong token":    post("/mcp", "Authorization: Bearer wrong-wrong-wrong-wrong\r\nContent-Length: 1000\r\n") + "{",
		"a page that is not there":     post("/nope", "Content-Length: 1000\r\n") + "k",
		"a host that is not ours":      strings.Replace(post("/login", "Content-Length: 1000\r\n"), "127.0.0.1", "evil.example", 1) + "k",
		"a page of another origin":     post("/login", "Origin: http://evil.example\r\nContent-Length: 1000\r\n") + "k",
		"half a header":                "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n",
		"nothing at all":               "",
		"an answer that nobody reads":  "GET /big HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"a form to sign out, unsigned": post("/logout", "Content-Length: 1000\r\n") + "t",
	} {
		t.Run(name, func(t *testing.T) {
			rt := guarded(t, Options{MaxConns: most, Grace: time.Millisecond})
			for range 2 * most {
				c, err := net.Dial("tcp", rt.addr)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				_ = c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)) // the server may be waiting for the test to read
				_, _ = io.WriteString(c, begin)                                // a connection that was closed for another one cannot be written to
			}
			for range 3 {
				began := time.Now()
				client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
				response, err := client.Get("http://" + rt.addr + "/healthz")
				if err != nil {
					t.Fatalf("after %v: %v", time.Since(began), err)
				}
				response.Body.Close()
				if response.StatusCode != http.StatusOK {
					t.Fatalf("GET /healthz = %s, want 200", response.Status)
				}
			}
		})
	}
}

// Signed-in callers stay connected: a flood of strangers ends no agent's call.
func TestAttackDoorsAFloodOfStrangersEndsNoCall(t *testing.T) {
	const most = 16
	admitted := make(chan struct{}) // until then it is a stranger itself
	rt := run(t, Options{Token: rightToken, People: in, Shell: page.New([]byte("key")), MaxConns: most, Access: map[string]access.Rule{"/slow": {Level: access.Agents}},
		Mounts: map[string]http.Handler{"/slow": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(admitted)
			body, err := io.ReadAll(r.Body)
			if err == nil {
				fmt.Fprintf(w, "got %s", body)
			}
		})}})
	body, write := io.Pipe()
	answered := make(chan string, 1)
	go func() {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+rt.addr+"/slow", body)
		r.Header.Set("Authorization", "Bearer "+rightToken)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		all, _ := io.ReadAll(response.Body)
		answered <- string(all)
	}()
	if _, err := io.WriteString(write, "first "); err != nil {
		t.Fatal(err)
	}
	<-admitted
	for range 4 * most {
		c, err := net.Dial("tcp", rt.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, "POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n")
	}
	if response, err := http.Get("http://" + rt.addr + "/healthz"); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("GET /healthz = %v, %v", response, err)
	}
	if _, err := io.WriteString(write, "second"); err != nil {
		t.Fatal(err)
	}
	write.Close()
	if got := <-answered; got != "got first second" {
		t.Errorf("the call of an agent = %q, want what it sent", got)
	}
}

func TestAttackDoorsASlowFormIsLetGo(t *testing.T) {
	rt := guarded(t, Options{StrangerTime: 50 * time.Millisecond})
	c, err := net.Dial("tcp", rt.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nk"); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	all, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 400") {
		t.Errorf("a form that does not arrive is answered %v %.100s, want 400 and the end", err, all)
	}
}

// signedInBrowser returns a browser that signed in by a link, and its home page.
func signedInBrowser(t *testing.T, rt *running) (browser *http.Client, home string) {
	t.Helper()
	browser, home = newBrowser(t), in.Home("http://"+rt.addr)
	if _, body := visit(t, browser, in.LoginLink("http://"+rt.addr, "/in")); !strings.Contains(body, "welcome people link") {
		t.Fatalf("the link leads to %s", body)
	}
	return browser, home
}

// posts sends a form as a browser does.
func posts(t *testing.T, browser *http.Client, address string, form url.Values) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response
}

var formToken = regexp.MustCompile(`name="token" content="(\w+)"`)

func TestAttackDoorsASessionIsAtHomeOnly(t *testing.T) {
	rt := guarded(t, Options{})
	browser, home := signedInBrowser(t, rt)
	at, err := url.Parse(home)
	if err != nil {
		t.Fatal(err)
	}
	cookies := browser.Jar.Cookies(at)
	session := ""
	for _, c := range cookies {
		if c.Name == sessionCookie {
			session = c.Name + "=" + c.Value
		}
	}
	if session == "" || !regexp.MustCompile(`^deskhand-[0-9a-f]{16}\.localhost$`).MatchString(at.Hostname()) {
		t.Fatalf("the session %q is at %s", session, home)
	}
	t.Run("a browser takes it to no port of 127.0.0.1", func(t *testing.T) {
		for _, other := range []string{"http://127.0.0.1:1", "http://localhost:1", "http://" + rt.addr} {
			u, err := url.Parse(other)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range browser.Jar.Cookies(u) {
				if c.Name == sessionCookie {
					t.Errorf("%s gets %v", other, c)
				}
			}
		}
	})
	for _, host := range []string{"", "localhost", "other.localhost"} {
		t.Run("it is nobody's at "+strings.TrimSpace(host+" 127.0.0.1"), func(t *testing.T) {
			lines := []string{"Cookie: " + session}
			if host != "" {
				lines = append(lines, "Host: "+host)
			}
			if response, body := rt.ask(t, "GET", "/in", "", lines...); response.StatusCode != http.StatusUnauthorized {
				t.Errorf("%d %s, want 401", response.StatusCode, body)
			}
		})
	}
	t.Run("127.0.0.1 tells nobody the name", func(t *testing.T) {
		for _, path := range []string{"/in", "/login", "/login?key=1.2.3", "/nope", "/healthz", "/connect/callback?state=x"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+rt.addr+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", "text/html")
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			if err := response.Write(&all); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(all.String(), at.Hostname()) {
				t.Errorf("GET %s tells %s:\n%s", path, at.Hostname(), all.String())
			}
		}
	})
	t.Run("the key at 127.0.0.1 leads home", func(t *testing.T) {
		stranger := newBrowser(t)
		_, body := visit(t, stranger, "http://"+rt.addr+"/login")
		response := posts(t, stranger, "http://"+rt.addr+"/login", url.Values{"token": {formToken.FindStringSubmatch(body)[1]}, "key": {rightKey}, "to": {"/in"}})
		_, link, _ := strings.Cut(response.Header.Get("Refresh"), "url=")
		if response.StatusCode != http.StatusOK || !strings.HasPrefix(link, home+"/login?") {
			t.Fatalf("the key = %s, %q; want to be led to %s", response.Status, response.Header.Get("Refresh"), home)
		}
		for _, c := range response.Cookies() {
			if c.Name == sessionCookie {
				t.Errorf("a session was begun at 127.0.0.1: %v", c)
			}
		}
		if _, body := visit(t, stranger, link); !strings.Contains(body, "welcome people link") {
			t.Errorf("the link leads to %s", body)
		}
	})
}

func TestAttackDoorsASessionEnds(t *testing.T) {
	t.Run("when its time is up", func(t *testing.T) {
		short := People{Key: rightKey, Time: time.Second}
		rt := run(t, Options{Token: rightToken, People: short, Shell: page.New([]byte("key")), Mounts: map[string]http.Handler{
			"/in": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") })}})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, short.LoginLink("http://"+rt.addr, "/in"), nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		cookie := response.Cookies()[0]
		waittest.Until(t, "a session of a second has ended", func() (bool, any) {
			response, _ := rt.ask(t, "GET", "/in", "", "Host: "+short.host(), "Cookie: "+cookie.Name+"="+cookie.Value)
			return response.StatusCode == http.StatusUnauthorized, response.Status
		})
	})
	t.Run("when its person signs out, for a copy of its cookie too", func(t *testing.T) {
		rt := guarded(t, Options{})
		browser, home := signedInBrowser(t, rt)
		at, _ := url.Parse(home) // it was visited
		copied := browser.Jar.Cookies(at)
		_, body := visit(t, browser, home+"/nope")
		if response := posts(t, browser, home+"/logout", url.Values{"token": {"0123"}}); response.StatusCode != http.StatusForbidden {
			t.Errorf("signing out without the token of the page = %s, want 403", response.Status)
		}
		if path, _ := visit(t, browser, home+"/in"); path != "/in" {
			t.Fatalf("the page of another site signed somebody out: %s", path)
		}
		if response := posts(t, browser, home+"/logout", url.Values{"token": {formToken.FindStringSubmatch(body)[1]}}); response.Request.URL.Path != "/login" {
			t.Errorf("signing out leads to %s, want the page to sign in", response.Request.URL)
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		jar.SetCookies(at, copied)
		for who, browser := range map[string]*http.Client{"the browser": browser, "a copy of its cookies": {Jar: jar}} {
			if path, _ := visit(t, browser, home+"/in"); !strings.HasPrefix(path, "/login") {
				t.Errorf("%s is still signed in, at %s", who, path)
			}
		}
	})
}

// streams starts a server with a page that lasts, /last. The page reports in calls
// when it begins and ends.
func streams(t *testing.T, in People, ledger Ledger) (rt *running, calls chan string) {
	t.Helper()
	calls = make(chan string, 16)
	return run(t, Options{Token: rightToken, People: in, Ledger: ledger, Shell: page.New([]byte("key")), Mounts: map[string]http.Handler{
		"/last": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, ": ok\n\n")
			_ = http.NewResponseController(w).Flush()
			calls <- "begun"
			<-r.Context().Done()
			calls <- "ended " + access.Of(r.Context()).How
		})}}), calls
}

// follows opens /last as a browser or a program and leaves it open until the test
// ends.
func follows(t *testing.T, rt *running, calls chan string, header ...string) (ended <-chan error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+rt.addr+"/last", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("GET /last = %s", response.Status)
	}
	if got := <-calls; got != "begun" {
		t.Fatalf("the handler says %q", got)
	}
	done := make(chan error, 1)
	go func() {
		defer response.Body.Close()
		_, err := io.ReadAll(response.Body)
		done <- err
	}()
	return done
}

// begins signs a browser in and returns the headers that it sends from then on.
func begins(t *testing.T, rt *running, in People) (header []string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, in.LoginLink("http://"+rt.addr, "/nope"), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	for _, c := range response.Cookies() {
		if c.Name == sessionCookie {
			return []string{"Host: " + in.host(), "Cookie: " + c.Name + "=" + c.Value}
		}
	}
	t.Fatalf("%s begins no session", response.Status)
	return nil
}

// A browser's stream ends with its session. Otherwise the browser would still be
// told of every question.
func TestAttackDoorsAStreamEndsWithItsSession(t *testing.T) {
	over := func(t *testing.T, ended <-chan error, calls chan string) {
		t.Helper()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the stream was cut: %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the stream goes on")
		}
		if got := <-calls; got != "ended link" {
			t.Errorf("%q has ended, want what the browser followed", got)
		}
	}
	signOut := func(t *testing.T, rt *running, header []string) {
		t.Helper()
		page, body := rt.ask(t, "GET", "/nope", "", append(header, "Accept: text/html")...)
		header = slices.Clone(header)
		for _, c := range page.Cookies() {
			header = append(header, "Cookie: "+c.Name+"="+c.Value)
		}
		token := formToken.FindStringSubmatch(body)
		if token == nil {
			t.Fatalf("no token in %s", body)
		}
		response, _ := rt.ask(t, "POST", "/logout", "token="+token[1], append(header, "Content-Type: application/x-www-form-urlencoded")...)
		if response.Request.URL.Path != "/login" {
			t.Fatalf("POST /logout = %s at %s", response.Status, response.Request.URL)
		}
	}
	t.Run("when its person signs out, and no other does", func(t *testing.T) {
		rt, calls := streams(t, in, nil)
		one, other := begins(t, rt, in), begins(t, rt, in)
		follows(t, rt, calls, other...)
		follows(t, rt, calls, "Authorization: Bearer "+rightKey)
		ended := follows(t, rt, calls, one...)
		again := follows(t, rt, calls, one...)
		signOut(t, rt, one)
		over(t, ended, calls)
		over(t, again, calls)
		select {
		case got := <-calls:
			t.Errorf("%s too", got)
		default:
		}
	})
	t.Run("when it is ended at another server", func(t *testing.T) {
		ledger := &memory{}
		rt, calls := streams(t, in, ledger)
		elsewhere, _ := streams(t, in, ledger)
		header := begins(t, rt, in)
		ended := follows(t, rt, calls, header...)
		signOut(t, elsewhere, header)
		over(t, ended, calls)
	})
	t.Run("when its time is up", func(t *testing.T) {
		short := People{Key: rightKey, Time: 2 * time.Second}
		rt, calls := streams(t, short, nil)
		ended := follows(t, rt, calls, begins(t, rt, short)...)
		over(t, ended, calls)
	})
}

// Guessing is limited, and a guesser locks no person out.
func TestAttackDoorsGuessingTheKeyIsLimited(t *testing.T) {
	rt := guarded(t, Options{})
	stranger, base := newBrowser(t), "http://"+rt.addr
	_, body := visit(t, stranger, base+"/login")
	form := url.Values{"token": {formToken.FindStringSubmatch(body)[1]}, "key": {"a-guess-a-guess-a-guess"}}
	var last *http.Response
	tried := 0
	for ; tried < 3*triesOfAddress; tried++ {
		if last = posts(t, stranger, base+"/login", form); last.StatusCode != http.StatusUnauthorized {
			break
		}
	}
	if last.StatusCode != http.StatusTooManyRequests || tried != triesOfAddress {
		t.Fatalf("try %d = %s, want 429 at try %d", tried+1, last.Status, triesOfAddress+1)
	}
	t.Run("with the time to wait", func(t *testing.T) {
		if after := last.Header.Get("Retry-After"); !regexp.MustCompile(`^([1-9]|[1-5]\d|6[01])$`).MatchString(after) {
			t.Errorf("Retry-After = %q, want up to a minute", after)
		}
	})
	t.Run("the right key is not taken meanwhile", func(t *testing.T) {
		form.Set("key", rightKey)
		if response := posts(t, stranger, base+"/login", form); response.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%s, want 429", response.Status)
		}
	})
	t.Run("a link lets the person in all the same", func(t *testing.T) { signedInBrowser(t, rt) })
	t.Run("a program of the person is let in all the same", func(t *testing.T) {
		if response, _ := rt.ask(t, "GET", "/in", "", "Authorization: Bearer "+rightKey); response.StatusCode != http.StatusOK {
			t.Errorf("%s, want 200", response.Status)
		}
	})
}

// Wrong secrets from programs are limited too. Correct ones are accepted meanwhile,
// even from the same address.
func TestAttackDoorsGuessingATokenIsLimited(t *testing.T) {
	for name, c := range map[string]struct {
		path, guess string
		more        []string
		first       int
	}{
		"a token of agents":                 {"/mcp", "Bearer a-guess-a-guess-a-guess", nil, http.StatusUnauthorized},
		"the key of the person":             {"/in", "bearer  a-guess-a-guess-a-guess", nil, http.StatusUnauthorized},
		"as a browser that would be led on": {"/in", "Bearer a-guess-a-guess-a-guess", []string{"Accept: text/html"}, 0},
		"by another scheme":                 {"/mcp", "Basic YTpi", nil, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			rt := guarded(t, Options{})
			method := map[bool]string{true: "GET", false: "POST"}[c.path == "/in"]
			var last *http.Response
			tried := 0
			for ; tried < 3*triesOfAddress; tried++ {
				if last, _ = rt.ask(t, method, c.path, "", append(c.more, "Authorization: "+c.guess)...); last.StatusCode == http.StatusTooManyRequests {
					break
				}
				if c.first != 0 && last.StatusCode != c.first {
					t.Fatalf("try %d = %s, want %d", tried+1, last.Status, c.first)
				}
			}
			if tried != triesOfAddress {
				t.Fatalf("try %d = %s, want 429 at try %d", tried+1, last.Status, triesOfAddress+1)
			}
			if after := last.Header.Get("Retry-After"); !regexp.MustCompile(`^([1-9]|[1-5]\d|6[01])$`).MatchString(after) {
				t.Errorf("Retry-After = %q, want up to a minute", after)
			}
			for path, secret := range map[string]string{"/mcp": rightToken, "/in": rightKey} {
				for range 3 * triesOfAll {
					if response, body := rt.ask(t, "GET", path, "", "Authorization: Bearer "+secret); response.StatusCode != http.StatusOK {
						t.Fatalf("the right secret for %s = %s %s", path, response.Status, body)
					}
				}
			}
			signedInBrowser(t, rt)
			if response, _ := rt.ask(t, "GET", "/in", ""); response.StatusCode != http.StatusUnauthorized {
				t.Errorf("without a secret = %s, want 401", response.Status)
			}
		})
	}
	t.Run("where agents need no token, the key of the person too", func(t *testing.T) {
		rt := run(t, Options{NoToken: true, People: in, Shell: page.New([]byte("key")), Mounts: map[string]http.Handler{
			"/in": http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}})
		for i := range triesOfAddress + 1 {
			response, _ := rt.ask(t, "GET", "/in", "", "Authorization: Bearer a-guess-a-guess-a-guess")
			if want := map[bool]int{true: http.StatusForbidden, false: http.StatusTooManyRequests}[i < triesOfAddress]; response.StatusCode != want {
				t.Fatalf("try %d = %s, want %d", i+1, response.Status, want)
			}
		}
	})
}

func TestTriesAreCountedByAddressAndInAll(t *testing.T) {
	var all tries
	now := time.Now()
	taken := func(address string, at time.Time) bool { return all.take(address, at) == 0 }
	for i := range triesOfAddress {
		if !taken("192.0.2.1:1000", now) {
			t.Fatalf("try %d is refused", i+1)
		}
	}
	if taken("192.0.2.1:2000", now) || !taken("192.0.2.2:1", now) {
		t.Error("another port counts as another address, or another address as the same")
	}
	if n := network("[2001:db8::1]:1"); n != network("[2001:db8::ffff]:1") || n == network("[2001:db8:0:1::1]:1") {
		t.Error("64 bits of an address of the sixth version are one")
	}
	for i := range 2 * triesOfAll {
		taken(fmt.Sprintf("198.51.100.%d:1", i%256), now)
	}
	if taken("203.0.113.1:1", now) {
		t.Errorf("more than %d tries of all are taken", triesOfAll)
	}
	if !taken("203.0.113.1:1", now.Add(triesWindow)) || !taken("192.0.2.1:1", now.Add(triesWindow)) {
		t.Error("no try is taken after the window")
	}
}

func TestAttackDoorsSecretsThatCanBeGuessedAreRefused(t *testing.T) {
	shell := page.New(nil)
	for name, o := range map[string]Options{
		"a token of a letter":                {Token: "a"},
		"a token of 15":                      {Token: strings.Repeat("a", 15)},
		"a token with a space":               {Token: "a token with spaces in it"},
		"a key of 15":                        {Token: rightToken, People: People{Key: strings.Repeat("a", 15)}, Shell: shell},
		"a key that is the token":            {Token: rightToken, People: People{Key: rightToken}, Shell: shell},
		"pages without a key to sign in":     {Token: rightToken, Shell: shell},
		"a short token, and nobody signs in": {Token: "abc", People: in, Shell: shell},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(o); err == nil {
				t.Error("New takes it")
			}
		})
	}
}

// A body that is too large is refused with that reason, with and without a length.
func TestAttackDoorsBodiesThatAreTooBig(t *testing.T) {
	rt := guarded(t, Options{MaxBodyBytes: 1 << 20})
	browser, home := signedInBrowser(t, rt)
	big := strings.Repeat("x", 2<<20)
	for path, who := range map[string]*http.Client{"/login": http.DefaultClient, "/logout": browser} {
		for name, body := range map[string]io.Reader{"with its length": strings.NewReader("token=" + big), "in chunks": io.MultiReader(strings.NewReader("token=" + big))} {
			t.Run(path+" "+name, func(t *testing.T) {
				r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, home+path, body)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				response, err := who.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				if response.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("%s, want 413", response.Status)
				}
			})
		}
	}
}

// Request bodies from signed-in callers share a limit.
func TestAttackDoorsBodiesAreBoundedTogether(t *testing.T) {
	const most = 1 << 20
	arrived, answer := make(chan int), make(chan struct{})
	start := func(t *testing.T, most, together int64, wait time.Duration) *running {
		return run(t, Options{Token: rightToken, MaxBodyBytes: most, MaxBodiesBytes: together, BodyWait: wait, Access: map[string]access.Rule{"/mcp": {Level: access.Agents}},
			Mounts: map[string]http.Handler{"/mcp": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				all, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				arrived <- len(all)
				<-answer
			})}})
	}
	// send posts a body. If chunks is set, the header has no length.
	send := func(t *testing.T, rt *running, n int, chunks bool) <-chan *http.Response {
		got := make(chan *http.Response, 1)
		var body io.Reader = strings.NewReader(strings.Repeat("x", n))
		if chunks {
			body = io.MultiReader(body) // of unknown length
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+rt.addr+"/mcp", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+rightToken)
		go func() {
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				close(got)
				return
			}
			response.Body.Close()
			got <- response
		}()
		return got
	}
	ok := func(t *testing.T, got <-chan *http.Response) {
		t.Helper()
		if response := <-got; response == nil || response.StatusCode != http.StatusOK {
			t.Errorf("%v, want 200", response)
		}
	}
	t.Run("one too many is told when to come back", func(t *testing.T) {
		rt := start(t, most, most, 50*time.Millisecond)
		first := send(t, rt, most*3/4, false)
		<-arrived
		for _, chunks := range []bool{false, true} {
			response := <-send(t, rt, most/2, chunks)
			if response == nil || response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "1" {
				t.Errorf("in chunks %v: %+v, want 503 with Retry-After", chunks, response)
			}
		}
		small := send(t, rt, smallBody, false)
		<-arrived
		answer <- struct{}{}
		answer <- struct{}{}
		ok(t, first)
		ok(t, small)
	})
	t.Run("and is taken when there is room", func(t *testing.T) {
		rt := start(t, most, most, time.Minute)
		first := send(t, rt, most*3/4, false)
		<-arrived
		second := send(t, rt, most/2, true)
		answer <- struct{}{}
		ok(t, first)
		if n := <-arrived; n != most/2 {
			t.Errorf("%d bytes arrived, want all", n)
		}
		answer <- struct{}{}
		ok(t, second)
	})
	t.Run("a body without a length counts as what it was", func(t *testing.T) {
		rt := start(t, most, 2*most, time.Minute)
		var all []<-chan *http.Response
		for range 4 {
			all = append(all, send(t, rt, most/4, true))
			<-arrived
		}
		for range all {
			answer <- struct{}{}
		}
		for _, got := range all {
			ok(t, got)
		}
	})
}
