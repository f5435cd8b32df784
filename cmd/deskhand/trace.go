package main

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/telemetry"
)

// collector is where spans go: what the setting says, or else the variables that
// all programs with OpenTelemetry have. Empty: nowhere.
func (a *app) collector() (string, error) {
	endpoint := a.settings.get("otlp.endpoint")
	if endpoint == "" {
		endpoint = env("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	if own := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); own != "" && !a.settings.given("otlp.endpoint") {
		endpoint = own
	}
	if endpoint == "" || env("OTEL_SDK_DISABLED") == "true" {
		return "", nil
	}
	at, err := url.Parse(endpoint)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return "", misuse("the collector of spans is at \""+endpoint+"\", which is no address", "write otlp.endpoint as http://127.0.0.1:4318")
	}
	if strings.Trim(at.Path, "/") == "" {
		at.Path = "/v1/traces"
	}
	return at.String(), nil
}

// hubOptions are those of every hub over the store, whatever it is opened for:
// each tells of what was asked and ended through it. tell sends the last spans,
// after the hub was closed. log may be nil.
func (a *app) hubOptions(log *slog.Logger) (o elicit.Options, tell func(), err error) {
	p, err := a.people()
	if err != nil {
		return o, nil, err
	}
	o = elicit.Options{Attended: p.attended, AllowSecrets: p.secrets, Log: log, Command: a.command, Attempt: ownAttempt(), Settle: a.endTurns}
	if o.Members, err = a.members(); err != nil {
		return o, nil, err
	}
	spans, err := a.telemetry(log)
	if err != nil || spans == nil {
		return o, func() {}, err
	}
	o.Observe = spans.Observe
	return o, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := spans.Close(ctx); err != nil && log != nil {
			log.Warn("last spans not sent", "error", err)
		}
	}, nil
}

// telemetry sends spans to the collector. Nil: there is none.
func (a *app) telemetry(log *slog.Logger) (*telemetry.Telemetry, error) {
	endpoint, err := a.collector()
	if err != nil || endpoint == "" {
		return nil, err
	}
	headers := map[string]string{}
	for pair := range strings.SplitSeq(env("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if value, err := url.QueryUnescape(value); ok && err == nil {
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return telemetry.Open(telemetry.Options{Endpoint: endpoint, Headers: headers, Service: env("OTEL_SERVICE_NAME"), Version: buildVersion(), Log: log}), nil
}
