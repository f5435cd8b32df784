package mcpserver

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// In 2026-07-28 a call that needs a person ends with a question, and the client
// repeats the call with the answer. The state that connects the two is in a string
// that the client carries between them. Anyone could forge this string, so it is
// authenticated and bound to the call. Its request completes only once: another
// call with the same state gets the request's outcome and changes nothing.

// inputRequired ends a call that another call continues.
type inputRequired struct {
	requests mcp.InputRequestMap
	state    string
}

func (*inputRequired) Error() string { return "the client must ask its person and call again" }

func (i *inputRequired) result() *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: i.requests, RequestState: i.state}
}

// binding is the content of a state.
type binding struct {
	Request string `json:"r"`
	Tool    string `json:"t"`
	Digest  string `json:"d"` // digest of the arguments
	Client  string `json:"c"`
	Until   int64  `json:"u"` // seconds since 1970
	Person  string `json:"p,omitempty"`
}

// stateLife is how long a state stays valid after the deadline, while a user may
// still have the dialog open. Users rarely return to a client later than that.
const stateLife = 24 * time.Hour

// binding returns the binding of this call to r, which may be nil.
func (p *peer) binding(r *elicit.Request) binding {
	b := binding{Tool: p.req.Params.Name, Digest: digest(p.req.Params.Arguments), Client: p.caller.Name, Person: p.server.nameOf(p.req)}
	if r != nil {
		b.Request, b.Until = r.ID, time.Now().Add(stateLife).Unix()
		if !r.Deadline.IsZero() {
			b.Until = r.Deadline.Add(stateLife).Unix()
		}
	}
	return b
}

// digest returns a hash of the arguments that does not depend on their order.
func digest(args json.RawMessage) string {
	var value any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	canonical := []byte(args)
	if d.Decode(&value) == nil {
		if b, err := json.Marshal(value); err == nil {
			canonical = b
		}
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:16])
}

func (s *Server) sign(b binding) (string, error) {
	payload, err := json.Marshal(b)
	if err != nil {
		return "", fmt.Errorf("encode request state: %w", err)
	}
	mac, err := s.mac(payload)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(mac, payload...)), nil
}

// verify returns the request ID in a state that was created for this call. Its
// error is a fault with code bad_state, unless the key is unavailable.
func (s *Server) verify(state string, call binding) (request string, err error) {
	refused := fault.New("bad_state", "requestState was not issued by this server for this call", "call again without it to ask the question again")
	raw, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil || len(raw) < sha256.Size {
		return "", refused
	}
	mac, payload := raw[:sha256.Size], raw[sha256.Size:]
	want, err := s.mac(payload)
	if err != nil {
		return "", err
	}
	var b binding
	if !hmac.Equal(mac, want) || json.Unmarshal(payload, &b) != nil {
		return "", refused
	}
	call.Request, call.Until = b.Request, b.Until
	switch {
	case b != call:
		return "", refused
	case time.Now().Unix() > b.Until:
		return "", fault.New("bad_state", "requestState has expired", "call again without it to ask the question again")
	}
	return b.Request, nil
}

func (s *Server) mac(payload []byte) ([]byte, error) {
	key, err := s.opts.StateKey()
	if err != nil {
		return nil, fmt.Errorf("read key of request states: %w", err)
	}
	h := hmac.New(sha256.New, key)
	h.Write([]byte("deskhand requestState 1\n"))
	h.Write(payload)
	return h.Sum(nil), nil
}
