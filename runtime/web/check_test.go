package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

func TestCheck(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			http.Error(w, "no index", http.StatusServiceUnavailable)
			return
		}
		w.Write([]byte("{\"status\":\"ok\"}\n"))
	}))
	defer server.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, c := range map[string]struct {
		base       string
		ready      bool
		want, code string
	}{
		"alive":      {base: server.URL + "/", want: `{"status":"ok"}`},
		"not ready":  {base: server.URL, ready: true, code: "unhealthy"},
		"gone":       {base: gone.URL, code: "unhealthy"},
		"no address": {base: "localhost", code: "bad_address"},
		"not an URL": {base: "http://[::1", code: "bad_address"},
	} {
		got, err := Check(context.Background(), c.base, c.ready)
		code := ""
		if f := fault.Of(err); f != nil {
			code = f.Code
		}
		if got != c.want || code != c.code {
			t.Errorf("%s: Check = %q, code %q (%v), want %q, %q", name, got, code, err, c.want, c.code)
		}
	}
}
