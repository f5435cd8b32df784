// Package telemetry tells a collector of OpenTelemetry what becomes of requests
// to people: a span for each that is asked, and one for its end which lasts from
// the asking. Without an address there is none of it.
//
// What was asked and answered is in no span, and neither is an address.
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

// Options is where to send spans. Endpoint is required.
type Options struct {
	// Endpoint takes OTLP over HTTP, in JSON, such as
	// http://127.0.0.1:4318/v1/traces.
	Endpoint string
	// Headers go with each request, such as a token.
	Headers map[string]string
	// Service and Version are what this program is called. Zero: deskhand.
	Service, Version string
	// Log takes that spans could not be sent. Nil: nothing is logged.
	Log *slog.Logger
}

// Telemetry makes spans and sends them now and then. Its methods may be called
// at once.
type Telemetry struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// sendTime bounds one request to the collector.
const sendTime = 10 * time.Second

// Open begins. It connects to nobody yet.
func Open(o Options) *Telemetry {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	// What the headers have is for the endpoint alone.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	e := &exporter{options: o, client: &http.Client{Timeout: sendTime, CheckRedirect: stay}}
	about := resource.NewSchemaless(attribute.String("service.name", cmp.Or(o.Service, "deskhand")), attribute.String("service.version", o.Version))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(e), sdk.WithResource(about))
	return &Telemetry{provider, provider.Tracer("github.com/deskhand/deskhand")}
}

// Observe makes the span of an event of a request, as [elicit.Options] has it.
// It does not block.
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

// Close sends what is left, and gives up when ctx ends.
func (t *Telemetry) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }
