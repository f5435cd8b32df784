package manualpage

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/manual"
	"github.com/deskhand/deskhand/runtime/web/page"
)

func get(t *testing.T, path string, search func(context.Context, string) ([]Hit, error)) (status int, body, location string) {
	t.Helper()
	mux := http.NewServeMux()
	for route, h := range New(Options{Shell: page.New([]byte("key")), Search: search}).Mounts() {
		mux.Handle(route, h)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String(), w.Header().Get("Location")
}

func TestTheManualIsReadInABrowser(t *testing.T) {
	if status, body, _ := get(t, "/manual", nil); status != 200 || !strings.Contains(body, `href="/manual/run-an-attempt"`) || !strings.Contains(body, "troubleshooting") {
		t.Errorf("contents: %d\n%.2000s", status, body)
	}
	status, body, _ := get(t, "/manual/run-an-attempt", nil)
	if status != 200 || strings.Contains(body, "<p>---") || strings.Contains(body, `.md"`) {
		t.Errorf("a page: %d\n%.2000s", status, body)
	}
	if status, _, to := get(t, "/manual/exit-codes", nil); status != http.StatusFound || to != "/manual/deskhand#exit-codes" {
		t.Errorf("a section: %d, %s", status, to)
	}
	if status, body, _ := get(t, "/manual/%3Cscript%3E", nil); status != http.StatusNotFound || strings.Contains(body, "<script>") {
		t.Errorf("no topic: %d\n%.2000s", status, body)
	}
}

func TestTheManualIsSearchedInABrowser(t *testing.T) {
	found := func(context.Context, string) ([]Hit, error) {
		return []Hit{{"run-an-attempt#stop", "Run an attempt > Stop", "**stop** it"}}, nil
	}
	if status, body, _ := get(t, "/manual?q=stop", found); status != 200 || !strings.Contains(body, `<a href="/manual/run-an-attempt#stop">Run an attempt &gt; Stop</a>`) {
		t.Errorf("hits: %d\n%.2000s", status, body)
	}
	broken := func(context.Context, string) ([]Hit, error) { return nil, errors.New("secret reason") }
	if status, body, _ := get(t, "/manual?q=stop", broken); status != http.StatusInternalServerError || strings.Contains(body, "secret reason") || !strings.Contains(body, `role="alert"`) {
		t.Errorf("a broken search: %d\n%.2000s", status, body)
	}
}

// Every link between pages leads to one, at a heading that it has.
func TestEveryLinkOfTheManualLeadsSomewhere(t *testing.T) {
	texts := map[string]string{}
	for _, p := range manual.Pages() {
		_, texts[Path+"/"+p.Name], _ = get(t, Path+"/"+p.Name, nil)
	}
	for at, text := range texts {
		for _, part := range strings.Split(text, `href="`)[1:] {
			target, _, _ := strings.Cut(part, `"`)
			if strings.HasPrefix(target, "#") {
				target = at + target
			}
			file, anchor, _ := strings.Cut(target, "#")
			if !strings.HasPrefix(file, Path+"/") {
				continue
			}
			other, known := texts[file]
			if !known || anchor != "" && !strings.Contains(other, `id="`+anchor+`"`) {
				t.Errorf("%s links to %s", at, target)
			}
		}
	}
}
