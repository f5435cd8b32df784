// Package telemetry exports OpenTelemetry spans for the requests that people are
// asked to answer. It exports one span when a request is opened, and another at
// the end that covers the request's whole duration. Without an endpoint, nothing
// is exported.
//
// Spans contain no questions, answers or addresses.
package telemetry

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// Options configure where spans are sent. Endpoint is required.
type Options struct {
	// Endpoint is the URL of a collector that accepts OTLP in JSON over HTTP, for
	// example http://127.0.0.1:4318/v1/traces.
	Endpoint string
	// Headers are sent with each HTTP request, for example a token.
	Headers map[string]string
	// Service and Version identify this program. If Service is empty, it is
	// "deskhand".
	Service, Version string
	// Log receives failures to send spans. If nil, they are discarded.
	Log *slog.Logger
}

// Telemetry creates spans and sends them in batches. Its methods may be called
// concurrently.
type Telemetry struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// sendTime is the timeout for a request to the collector.
const sendTime = 10 * time.Second

// Open returns a Telemetry. It does not connect yet.
func Open(o Options) *Telemetry {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	// Redirects are not followed, because the headers are only for the
	// endpoint.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	e := &exporter{options: o, client: &http.Client{Timeout: sendTime, CheckRedirect: stay}}
	about := resource.NewSchemaless(attribute.String("service.name", cmp.Or(o.Service, "deskhand")), attribute.String("service.version", o.Version))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(e), sdk.WithResource(about))
	return &Telemetry{provider, provider.Tracer("github.com/deskhand/deskhand")}
}

// Observe creates the span for an event of a request; see [elicit.Options]. It
// does not block.
func (t *Telemetry) Observe(event string, r *elicit.Request) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": r.Context.Traceparent})
	began, ended := r.CreatedAt.Time, r.CreatedAt.Time
	about := []attribute.KeyValue{attribute.String("elicitationId", r.ID), attribute.String("trigger", string(r.Trigger))}
	user := r.Audience.Principal
	if r.Completion != nil {
		ended = r.Completion.At.Time
		user = cmp.Or(r.Completion.By, user)
		about = append(about, attribute.String("outcome", string(r.Completion.Outcome)), attribute.Int64("duration", ended.Sub(began).Milliseconds()))
	}
	for _, one := range [][2]string{
		{"toolId", cmp.Or(r.Context.ToolCallID, r.Context.Upstream)}, {"toolName", r.Context.ToolName}, {"userId", user},
		{"projectId", r.Context.ProjectID}, {"taskId", r.Context.TaskID}, {"attemptId", r.Context.AttemptID}, {"conversationId", r.Context.ConversationID},
	} {
		if one[1] != "" {
			about = append(about, attribute.String(one[0], one[1]))
		}
	}
	_, span := t.tracer.Start(ctx, event, trace.WithTimestamp(began), trace.WithAttributes(about...), trace.WithSpanKind(trace.SpanKindInternal))
	span.End(trace.WithTimestamp(ended))
}

// Close sends the remaining spans. It returns an error if ctx is done before
// they are sent.
func (t *Telemetry) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }
