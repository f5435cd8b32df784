package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
)

// toWebhook posts messages as JSON, signed with a key that the receiver can derive from the
// installation's token.
var toWebhook = kind{name: "webhook",
	parse: func(h *Hook, rest string) error { return h.address(rest, "https://ntfy.sh/topic") },
	send: func(ctx context.Context, h Hook, m Message) (string, error) {
		m.Path = ""
		body, err := json.Marshal(m)
		if err != nil {
			return "", fmt.Errorf("encode notification: %w", err)
		}
		mac := hmac.New(sha256.New, h.key)
		mac.Write(body)
		_, err = h.do(ctx, http.MethodPost, h.target.String(), body, map[string]string{
			"Deskhand-Signature": "sha256=" + hex.EncodeToString(mac.Sum(nil)), "Idempotency-Key": m.key})
		return "", err
	},
}
