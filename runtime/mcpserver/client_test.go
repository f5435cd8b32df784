package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the command that Dial starts.
func TestMain(m *testing.M) {
	switch os.Getenv("MCPSERVER_TEST") {
	case "serve":
		s, err := New(Options{Name: "testdesk", Version: "1.2.3"}, newDesk().catalog())
		if err == nil {
			err = s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "fail":
		fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 2000)+"no such artifact")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func self(t *testing.T, mode string) Target {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Target{Command: []string{exe}, Env: []string{"MCPSERVER_TEST=" + mode}}
}

func TestDialReachesCommandsAndURLs(t *testing.T) {
	s := newServer(t, Options{}, newDesk().catalog())
	guarded := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer open sesame" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		s.Handler().ServeHTTP(w, r)
	}))
	defer guarded.Close()
	for name, target := range map[string]Target{
		"command": self(t, "serve"),
		"URL":     {URL: guarded.URL, Token: "open sesame"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Dial(t.Context(), target)
			if err != nil {
				t.Fatal(err)
			}
			if (c.PID() != 0) != (name == "command") {
				t.Errorf("PID = %d", c.PID())
			}
			tools, err := c.ListTools(t.Context())
			if err != nil || len(tools) != 8 || tools[0].Name != "search_docs" || !tools[0].ReadOnly || !json.Valid(tools[0].Input) {
				t.Errorf("ListTools = %+v, %v", tools, err)
			}
			text, structured, isError, err := c.Call(t.Context(), "search_docs", map[string]any{"query": "<q>"})
			if err != nil || isError || text != "<q> x0 for deskhand <&>\u2028" || string(structured) != `{"n":0,"query":"<q>"}` {
				t.Errorf("Call = %q, %s, %v, %v", text, structured, isError, err)
			}
			text, structured, isError, err = c.Call(t.Context(), "refuse", nil)
			if err != nil || !isError || text != "There is none. Retry later." || structured != nil {
				t.Errorf("Call(refuse) = %q, %s, %v, %v", text, structured, isError, err)
			}
			if _, _, _, err = c.Call(t.Context(), "nope", nil); err == nil {
				t.Error("Call of an unknown tool returned no error")
			}
			if err := c.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		})
	}
}

func TestDialSaysWhyItFailed(t *testing.T) {
	for want, target := range map[string]Target{
		"either a command or a URL": {},
		"no such artifact":          self(t, "fail"),
		"dial /no/such/program":     {Command: []string{"/no/such/program"}},
		"dial http://127.0.0.1:1/":  {URL: "http://127.0.0.1:1/"},
	} {
		c, err := Dial(t.Context(), target)
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 6000 {
			t.Errorf("Dial(%v) = %v, want %q", target.Command, err, want)
		}
	}
}

func TestDialGivesUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if c, err := Dial(ctx, Target{Command: []string{"sleep", "60"}}); err == nil {
		c.Close()
		t.Error("Dial of a mute command succeeded")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("Dial gave up after %v", took)
	}
}
