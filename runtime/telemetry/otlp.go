package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// exporter sends spans as OTLP in JSON, which every collector accepts. The
// library's own exporter uses protobuf and would make the program 10 MB larger.
type exporter struct {
	options Options
	client  *http.Client
}

// The OTLP 1.x messages in JSON. IDs are hexadecimal, and times are strings.
type (
	batch struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	attributes struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope named      `json:"scope"`
		Spans []spanJSON `json:"spans"`
	}
	named struct {
		Name string `json:"name"`
	}
	spanJSON struct {
		TraceID      string     `json:"traceId"`
		SpanID       string     `json:"spanId"`
		ParentSpanID string     `json:"parentSpanId,omitempty"`
		Name         string     `json:"name"`
		Kind         int        `json:"kind"`
		Start        string     `json:"startTimeUnixNano"`
		End          string     `json:"endTimeUnixNano"`
		Attributes   []keyValue `json:"attributes"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// ExportSpans implements [sdk.SpanExporter].
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	err := e.send(ctx, spans)
	if err != nil {
		e.options.Log.Warn("cannot send spans", "count", len(spans), "error", err)
	}
	return nil // the failure has been logged
}

// Shutdown implements [sdk.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

func (e *exporter) send(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	all := scopeSpans{Scope: named{spans[0].InstrumentationScope().Name}}
	for _, s := range spans {
		one := spanJSON{
			TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: int(s.SpanKind()),
			Start: nanoseconds(s.StartTime()), End: nanoseconds(s.EndTime()), Attributes: pairs(s.Attributes()),
		}
		if s.Parent().IsValid() {
			one.ParentSpanID = s.Parent().SpanID().String()
		}
		all.Spans = append(all.Spans, one)
	}
	body, err := json.Marshal(batch{[]resourceSpans{{attributes{pairs(spans[0].Resource().Attributes())}, []scopeSpans{all}}}})
	if err != nil {
		return fmt.Errorf("encode spans: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.options.Endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range e.options.Headers {
		r.Header.Set(name, value)
	}
	answer, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // lets the connection be reused
	if answer.StatusCode >= 300 {
		return fmt.Errorf("the collector answered %s", answer.Status)
	}
	return nil
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func pairs(all []attribute.KeyValue) []keyValue {
	out := []keyValue{}
	for _, one := range all {
		value := map[string]any{"stringValue": one.Value.String()}
		if one.Value.Type() == attribute.INT64 {
			value = map[string]any{"intValue": strconv.FormatInt(one.Value.AsInt64(), 10)}
		}
		out = append(out, keyValue{string(one.Key), value})
	}
	return out
}
