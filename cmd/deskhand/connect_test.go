package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/waittest"
)

var linkOf = regexp.MustCompile(`open (http://\S+)`)

func TestConnectByTheLinkThatIsPrinted(t *testing.T) {
	s := issuer(t)
	file, state := configured(t, fmt.Sprintf("upstreams:\n  - {name: linear, url: '%s/mcp', credential_scope: user, auth: {client_id: by-hand}}\n", s.URL))
	cmd := exec.Command("deskhand", "connect", "linear", "--config", file, "--state", state)
	said, out := &waittest.Log{}, &bytes.Buffer{}
	cmd.Stderr, cmd.Stdout = said, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	link := ""
	eventually(t, "the link", func() error {
		if m := linkOf.FindStringSubmatch(said.String()); m != nil {
			link = m[1]
			return nil
		}
		return fmt.Errorf("stderr: %s", said)
	})
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar, Timeout: patience}
	page := opened(t, browser, link) // which lets the browser in, once
	m := hidden.FindStringSubmatch(page)
	if m == nil || !strings.Contains(page, "Connect Linear") {
		t.Fatalf("the link leads to %s", page)
	}
	base, _, _ := strings.Cut(link, "/login")
	at, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	if done := submit(t, browser, base+at.Query().Get("to"), url.Values{"token": {m[1]}, "act": {"connect"}}); !strings.Contains(done, "Linear is connected") {
		t.Errorf("after Connect: %s", done)
	}
	if err := cmd.Wait(); err != nil || out.String() != "linear is connected\n" {
		t.Errorf("deskhand connect: %v, stdout %q, stderr %s", err, out, said)
	}
	listed, err := exec.Command("deskhand", "connections", "--json", "--config", file, "--state", state).Output()
	if err != nil || !strings.Contains(string(listed), `"connected": true`) || strings.Contains(string(listed), "issued-secret") {
		t.Errorf("deskhand connections = %s, %v; want it connected, and no token", listed, err)
	}
}
