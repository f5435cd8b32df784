//go:build unix

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os/exec"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/signin/signintest"
)

// The settings, the provider's groups and the projects together: who is in which group sees what.
func TestGroupsOfTheProviderDecideWhatPeopleSee(t *testing.T) {
	t.Setenv("CI", "")
	state := lingering(t)
	for _, name := range []string{"billing", "website"} {
		done(t, gitRepo(t, map[string]string{"x": name}), "tasks", "project", "add", ".", "--name", name, "--state", state)
	}
	provider := signintest.New(t)
	file, _ := configured(t, "public_url: http://desk.example\npeople:\n  oidc:\n    issuer: "+provider.URL+"\n    client_id: "+signintest.ClientID+"\n    client_secret_env: THE_SECRET\n    groups:\n"+
		"      dev: {scopes: 'answer,work:read', projects: [billing, website]}\n      web: {scopes: 'answer,work:read', projects: [website], guest: true}\n")
	cmd := exec.Command("deskhand", "serve", "--tools", "ask,work", "--http", "127.0.0.1:0", "--config", file, "--state", state)
	cmd.Env = append(cmd.Environ(), "THE_SECRET="+signintest.Secret, "CI=")
	s := socketOf(t, cmd)
	at := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")
	board := func(name, group string) string {
		t.Helper()
		provider.Claims = map[string]any{"sub": name, "preferred_username": name, "groups": []string{group}}
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == "desk.example:80" {
				addr = at
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Jar: jar, Transport: transport}).Get("http://desk.example/login/oidc?to=/work/projects")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for _, c := range []struct{ name, group, has, lacks string }{
		{"ada", "dev", "billing", "No group"}, {"carl", "web", "website", "billing"}, {"eve", "sales", "No group of", "billing"}, {"carl", "dev", "billing", "No group"},
	} {
		if body := board(c.name, c.group); !strings.Contains(body, c.has) || strings.Contains(body, c.lacks) {
			t.Errorf("%s of %s: %s", c.name, c.group, body)
		}
	}
	listed := done(t, t.TempDir(), "people", "list", "--json", "--state", state)
	if !strings.Contains(listed, `"carl"`) || strings.Contains(listed, `"eve"`) {
		t.Errorf("people: %s", listed)
	}
}
