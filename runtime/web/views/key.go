package views

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
)

// An agent must not answer its own question. MCP has one connection for the
// model's calls and for those of a view, and nothing on it says which is which:
// that is the host's to keep apart, and it must not offer the tool of the form to
// the model. For hosts that fail in that, two texts stand between the model and
// the form, each where hosts put what is not for the model:
//
//   - the proof is in the page: a caller that opens a question has read the page.
//   - the key of a question is in _meta of the answer that opens it: a caller that
//     reads, drafts or answers has seen that _meta, for this question, as this
//     client.
//
// A model that can read resources, sees _meta and is offered the tool could still
// do it, and who answered says "app" then.

// proof is what the page of the form carries.
func (v *Views) proof(ctx context.Context) (string, error) { return v.mac(ctx, "proof") }

// key is what answers a question.
func (v *Views) key(ctx context.Context, requestID string, caller contract.Caller) (string, error) {
	return v.mac(ctx, "key", requestID, caller.Name)
}

func (v *Views) mac(ctx context.Context, parts ...string) (string, error) {
	secret, err := v.options.Key(ctx)
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, secret)
	h.Write([]byte("deskhand view 1\n" + strings.Join(parts, "\n"))) // no part but the last has a line break
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18]), nil
}

// same compares without telling how much of it is equal.
func same(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// readAsk is the page of the form, with its proof.
func (v *Views) readAsk(ctx context.Context) (string, error) {
	proof, err := v.proof(ctx)
	if err != nil {
		return "", err
	}
	return v.ask.with(proof), nil
}
