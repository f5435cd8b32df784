package settings

import (
	"net/url"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/telemetry"
)

// collector returns the endpoint to which spans are exported. It comes from the
// setting, or else from the standard OpenTelemetry variables. If spans are not
// exported, collector returns "".
func (s *Settings) collector() (string, error) {
	endpoint := s.get("otlp.endpoint")
	if endpoint == "" {
		endpoint = Env("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	if own := Env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); own != "" && !s.given("otlp.endpoint") {
		endpoint = own
	}
	if endpoint == "" || Env("OTEL_SDK_DISABLED") == "true" {
		return "", nil
	}
	at, err := url.Parse(endpoint)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return "", fault.Misuse("the address of the span collector, \""+endpoint+"\", is not valid", "set otlp.endpoint, for example, to http://127.0.0.1:4318")
	}
	if strings.Trim(at.Path, "/") == "" {
		at.Path = "/v1/traces"
	}
	return at.String(), nil
}

// spans returns the options for exporting spans, or nil if spans are not
// exported.
func (s *Settings) spans(run Run) (*telemetry.Options, error) {
	endpoint, err := s.collector()
	if err != nil || endpoint == "" {
		return nil, err
	}
	headers := map[string]string{}
	for pair := range strings.SplitSeq(Env("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if value, err := url.QueryUnescape(value); ok && err == nil {
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return &telemetry.Options{Endpoint: endpoint, Headers: headers, Service: Env("OTEL_SERVICE_NAME"), Version: run.Version, Log: run.Log}, nil
}
