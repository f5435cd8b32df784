package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

func TestFailuresInAnEnvelopeAreForPrograms(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		fails error
		want  string
	}{
		"a fault": {
			(&fault.Fault{Code: "no_session_yet", Message: "There is no session <yet>.", Hint: "call get_attempt_status", Retryable: true}).With("field", "attempt_id"),
			`^\{"code":"no_session_yet","message":"There is no session <yet>\.","retryable":true,"hint":"call get_attempt_status","details":\{"field":"attempt_id"\}\}$`,
		},
		"no fault": {
			errors.New("open /secret/path"),
			`^\{"code":"internal","message":"internal error \(id [A-Z2-7]{8}\)","retryable":true,"hint":"call stop again; [^"]+"\}$`,
		},
		"the end of the server, or of the client's patience": {
			gone.Err(),
			`^\{"code":"cancelled","message":"cancelled","retryable":true,"hint":"call stop again"\}$`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(Options{}, contract.Catalog{})
			if err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			if c.fails == gone.Err() {
				ctx = gone
			}
			got := s.run(ctx, &contract.Tool{Name: "stop", Envelope: true, Call: func(context.Context, contract.Caller, json.RawMessage) (contract.Result, error) {
				return contract.Result{}, c.fails
			}}, contract.Caller{}, nil)
			if !got.isError || len(got.text) != 1 || got.text[0] != string(got.structured) || !regexp.MustCompile(c.want).Match(got.structured) {
				t.Errorf("run = %q, %s; want twice %s", got.text, got.structured, c.want)
			}
		})
	}
}
