package telemetry

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

func TestRequestsBecomeSpans(t *testing.T) { // I-060
	var got batch
	var header http.Header
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "secret.example") {
			t.Errorf("the address of a request is sent: %s", body)
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Error(err)
		}
	}))
	defer collector.Close()
	o := Open(Options{Endpoint: collector.URL, Headers: map[string]string{"X-Token": "t"}, Version: "1"})
	asked := time.Now().Add(-time.Minute)
	r := &elicit.Request{ID: "elc_1", Trigger: elicit.CredentialRequired, CreatedAt: elicit.At(asked), URL: "https://secret.example/x",
		Context: elicit.Context{Upstream: "linear", ToolName: "linear_issues", Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	o.Observe("elicitation.requested", r)
	r.Completion = &elicit.Completion{Outcome: elicit.Timeout, At: elicit.At(asked.Add(3 * time.Second))}
	o.Observe("elicitation.timeout", r)
	if err := o.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(got.ResourceSpans) != 1 || len(got.ResourceSpans[0].ScopeSpans[0].Spans) != 2 || header.Get("X-Token") != "t" {
		t.Fatalf("the collector got %+v with %v, want two spans", got, header)
	}
	spans := got.ResourceSpans[0].ScopeSpans[0].Spans
	if spans[0].Name != "elicitation.requested" || spans[1].Name != "elicitation.timeout" || spans[1].TraceID != "0af7651916cd43dd8448eb211c80319c" || spans[1].ParentSpanID != "b7ad6b7169203331" {
		t.Errorf("spans = %+v, want both events in the trace of the asker", spans)
	}
	text, _ := json.Marshal(spans[1])
	for _, want := range []string{`"elicitationId"`, `"elc_1"`, `"toolId"`, `"linear"`, `"trigger"`, `"credential_required"`, `"outcome"`, `"timeout"`, `{"key":"duration","value":{"intValue":"3000"}}`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("span = %s, want %s in it", text, want)
		}
	}
}

func TestCollectorThatIsAwayCostsNothingButALine(t *testing.T) {
	var log strings.Builder
	o := Open(Options{Endpoint: "http://127.0.0.1:9/v1/traces", Log: slog.New(slog.NewTextHandler(&log, nil))})
	o.Observe("elicitation.requested", &elicit.Request{ID: "elc_1", CreatedAt: elicit.At(time.Now())})
	if err := o.Close(t.Context()); err != nil || !strings.Contains(log.String(), "cannot send spans") {
		t.Errorf("Close = %v, log %q; want that spans were not sent, in the log", err, log.String())
	}
}

func TestTheTokenGoesNowhereElse(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server got %s with %v", r.Method, r.Header)
	}))
	defer elsewhere.Close()
	collector := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer collector.Close()
	var log strings.Builder
	o := Open(Options{Endpoint: collector.URL, Headers: map[string]string{"Api-Key": "k"}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	o.Observe("elicitation.requested", &elicit.Request{ID: "elc_1", CreatedAt: elicit.At(time.Now())})
	if err := o.Close(t.Context()); err != nil || !strings.Contains(log.String(), "307") {
		t.Errorf("Close = %v, log %q; want that the collector answered 307", err, log.String())
	}
}
