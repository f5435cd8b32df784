package views

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
)

// An agent must not answer its own question. In MCP, the model's calls and a
// view's calls use the same connection, and MCP does not distinguish them. The
// host must keep them apart and must not offer the form's tool to the model.
// Some hosts fail to do so. For these hosts, two secrets stand between the
// model and the form. Each is in a place that hosts keep from the model:
//
//   - The proof is in the page: a caller that opens a question has read the page.
//   - A question's key is in _meta of the answer that opens it: a caller that
//     reads, drafts or answers has seen that _meta, for this question, as this
//     client.
//
// A model that can read resources, sees _meta and is offered the tool could
// still answer. The record then says "app".

// proof returns the proof that the form's page contains.
func (v *Views) proof(ctx context.Context) (string, error) { return v.mac(ctx, "proof") }

// key returns the key for answering a question.
func (v *Views) key(ctx context.Context, requestID string, caller contract.Caller) (string, error) {
	return v.mac(ctx, "key", requestID, caller.Name)
}

func (v *Views) mac(ctx context.Context, parts ...string) (string, error) {
	secret, err := v.options.Key(ctx)
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("deskhand view 1\n" + strings.Join(parts, "\n"))) // only the last part may contain a line break, so the text is unambiguous
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18]), nil
}

// same compares two strings in constant time.
func same(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// readAsk returns the form's page with its proof.
func (v *Views) readAsk(ctx context.Context) (string, error) {
	proof, err := v.proof(ctx)
	if err != nil {
		return "", err
	}
	return v.made().ask.with(proof), nil
}
