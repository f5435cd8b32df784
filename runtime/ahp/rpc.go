package ahp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/deskhand/deskhand/runtime/fault"
)

// message is one JSON-RPC message from a client.
type message struct {
	ID     json.RawMessage // nil for a notification
	Method string
	Params json.RawMessage
}

// Error codes of JSON-RPC 2.0 (section 5.1) and of the Agent Host Protocol.
const (
	codeParse       = -32700
	codeInvalid     = -32600
	codeNoMethod    = -32601
	codeParams      = -32602
	codeInternal    = -32603
	codeNoSession   = -32001
	codeVersion     = -32005
	maxMessageBytes = 512 << 10 // enough for a 256 KiB request with all its answers
)

// rpcError is the error object of a response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

func failed(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// decodeMessage parses a client's message. If it returns an error, it also
// returns the ID to reply to, if that could be parsed.
func decodeMessage(data []byte) (m message, err *rpcError) {
	var raw struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	if !utf8.Valid(data) || !json.Valid(data) {
		return m, failed(codeParse, "the message is not JSON in UTF-8")
	}
	if json.Unmarshal(data, &raw) != nil {
		return m, failed(codeInvalid, "the message is not a single JSON-RPC object")
	}
	switch id := bytes.TrimSpace(raw.ID); {
	case len(id) == 0 || bytes.Equal(id, []byte("null")):
	case id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9':
		m.ID = id
	default:
		return m, failed(codeInvalid, "the id is neither a string nor a number")
	}
	if raw.JSONRPC != "2.0" || raw.Method == nil {
		return m, failed(codeInvalid, `the message lacks "jsonrpc":"2.0" or a method`)
	}
	m.Method, m.Params = *raw.Method, raw.Params
	return m, nil
}

// params decodes the parameters of a method. They may be missing.
func (m message) params(into any) error {
	if len(m.Params) == 0 {
		return nil
	}
	if err := json.Unmarshal(m.Params, into); err != nil {
		return failed(codeParams, "the parameters of %s are invalid: %v", m.Method, err)
	}
	return nil
}

// encodeResponse encodes the response to a request: err if it is not nil,
// otherwise result. The message of an error that is neither an rpcError nor a
// fault is replaced by "internal error".
func encodeResponse(id json.RawMessage, result any, err error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	response := struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result,omitempty"`
		Error   *rpcError       `json:"error,omitempty"`
	}{JSONRPC: "2.0", ID: id, Result: result}
	if err != nil {
		response.Result = nil
		if !errors.As(err, &response.Error) {
			response.Error = &rpcError{Code: codeInternal, Message: "internal error"}
			if f := fault.Of(err); f != nil {
				response.Error.Message = f.Message
			}
		}
	}
	return encode(response)
}

func encodeNotification(method string, params any) []byte {
	return encode(struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
}

// encode marshals v. It panics on error, which cannot happen with the types of
// this package.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return data
}
