package main

import (
	"log/slog"
	"net/url"
	"strings"

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

// spans is where spans go. Nil: nowhere.
func (a *app) spans(log *slog.Logger) (*telemetry.Options, error) {
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
	return &telemetry.Options{Endpoint: endpoint, Headers: headers, Service: env("OTEL_SERVICE_NAME"), Version: buildVersion(), Log: log}, nil
}
