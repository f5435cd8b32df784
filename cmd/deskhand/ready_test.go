package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// A probe hears that the store does not answer, and when it does again.
func TestAServerIsReadyWhileItsStoreAnswers(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	s := overSocket(t, "--tools", "ask", "--state", state)
	db, err := store.Open(t.Context(), state, elicit.Schema())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, c := range []struct {
		rename string
		want   int
		says   string
	}{
		{"", 200, `"status":"ready"`},
		{"ALTER TABLE requests RENAME TO away", 503, "the store does not answer"},
		{"ALTER TABLE away RENAME TO requests", 200, `"status":"ready"`},
	} {
		if c.rename != "" {
			if err := db.Update(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(t.Context(), c.rename)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "readiness", func() error { // a store that is being opened is not ready yet
			if status, body := s.get("/readyz"); status != c.want || !strings.Contains(body, c.says) {
				return fmt.Errorf("after %q GET /readyz: %d %s, want %d and %s", c.rename, status, body, c.want, c.says)
			}
			return nil
		})
		if status, body := s.get("/healthz"); status != 200 {
			t.Errorf("after %q GET /healthz: %d %s, want 200: the process is alive", c.rename, status, body)
		}
	}
}

// Behind a proxy that speaks TLS, cookies are for TLS only.
func TestCookiesAreSecureWherePagesAreOverTLS(t *testing.T) {
	t.Setenv("DESKHAND_PUBLIC_URL", "https://desk.example.org")
	s := overSocket(t, "--tools", "ask", "--state", filepath.Join(t.TempDir(), "state"))
	for name, c := range map[string]struct {
		host, proto string
		want        bool
	}{
		"by its public name":                  {"desk.example.org", "", true},
		"from a proxy with a host of its own": {"", "https", true},
		"at the machine itself":               {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), "GET", strings.TrimSuffix(s.url, "/mcp")+"/login", nil)
			if err != nil {
				t.Fatal(err)
			}
			if request.Host = c.host; c.proto != "" {
				request.Header.Set("X-Forwarded-Proto", c.proto)
			}
			response, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			cookies := response.Cookies()
			if response.StatusCode >= 400 || len(cookies) == 0 || cookies[0].Secure != c.want {
				t.Errorf("GET /login: %s with cookies %v, want one with Secure %v", response.Status, cookies, c.want)
			}
		})
	}
}
