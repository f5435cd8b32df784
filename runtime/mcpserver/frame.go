package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// frame is one JSON-RPC message, split into members but not decoded.
type frame struct {
	raw    []byte // the whole message, without a byte-order mark
	kind   frameKind
	id     json.RawMessage // as written: a string or an integer; nil if missing
	method string
	params json.RawMessage // an object; nil if missing
	// members holds the members of params, if parseFrame found no error.
	members []contract.Field
	// result and err belong to a reply. One of them is set.
	result, err json.RawMessage
}

type frameKind int

const (
	unknown      frameKind = iota // a message too broken to classify
	call                          // has a method and an ID, and expects an answer
	notification                  // has a method but no ID, and is never answered
	reply                         // to one of our requests, and never answered
)

// maxMethod is the maximum length of a method name in bytes. The longest name in
// use has 36.
const maxMethod = 200

func invalidRequest(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: " + fmt.Sprintf(format, args...)}
}

func invalidParams(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: " + fmt.Sprintf(format, args...)}
}

// parseFrame parses one message. The error is the answer that JSON-RPC 2.0
// section 5.1 requires, with the frame's ID if there is one. If the frame is a
// notification or a reply, the error is not sent. A leading byte-order mark is
// ignored, as RFC 8259 section 8.1 allows.
func parseFrame(data []byte) (frame, *jsonrpc.Error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	fields, err := contract.Fields(data)
	if err != nil {
		return frame{}, notAFrame(err, data)
	}
	f := frame{raw: data}
	var version, method json.RawMessage
	for _, field := range fields {
		switch field.Name {
		case "jsonrpc":
			version = field.Value
		case "id":
			f.id = field.Value
		case "method":
			method = field.Value
		case "params":
			f.params = field.Value
		case "result":
			f.result = field.Value
		case "error":
			f.err = field.Value
		}
	}
	if f.id != nil && !validID(f.id) {
		null := string(f.id) == "null"
		f.id = nil
		if null && method == nil && f.err != nil {
			f.kind = reply // to one of our messages whose ID the client could not read
			return f, nil
		}
		return f, invalidRequest("id must be a string or an integer")
	}
	if string(version) != `"2.0"` {
		return f, invalidRequest(`jsonrpc must be "2.0"`)
	}
	if method == nil {
		if f.result == nil && f.err == nil {
			return f, invalidRequest("method is missing")
		}
		f.kind = reply
		return f, nil
	}
	if json.Unmarshal(method, &f.method) != nil || method[0] != '"' {
		return f, invalidRequest("method must be a string")
	}
	f.kind = call
	if f.id == nil {
		f.kind = notification
	}
	if len(f.method) > maxMethod {
		return f, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %.40q...", f.method)}
	}
	return f, f.checkParams()
}

func notAFrame(err error, data []byte) *jsonrpc.Error {
	switch f := fault.Of(err); {
	case f.Code == "invalid_json":
		return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "parse error: " + f.Message}
	case f.Code == "not_object" && bytes.TrimLeft(data, " \t\r\n")[0] == '[':
		return invalidRequest("batches are not supported: send one message at a time")
	case f.Code == "not_object":
		return invalidRequest("a message must be a JSON object")
	default:
		return invalidRequest("%s", f.Message)
	}
}

// validID reports whether raw, a JSON value, can be an ID. MCP requires a string or
// an integer, and never null.
func validID(raw json.RawMessage) bool {
	return raw[0] == '"' || isInteger(raw)
}

func isInteger(raw json.RawMessage) bool {
	digits := bytes.TrimPrefix(raw, []byte("-"))
	return len(digits) > 0 && !slices.ContainsFunc(digits, func(c byte) bool { return c < '0' || c > '9' })
}

// carried marks an ID that the SDK cannot keep as written. The SDK parses integers
// as float64, which is exact only up to 2^53. Such an ID travels through the SDK as
// a string that begins with this mark. The same goes for a string that already
// begins with the mark or contains escapes.
const carried = "\x00raw:"

// maxExact is the number below which float64 represents every integer exactly.
const maxExact = 1 << 53

// toID returns the SDK's form of an ID that validID accepts. wireID is the inverse.
func toID(raw json.RawMessage) jsonrpc.ID {
	var value any = carried + string(raw)
	if raw[0] == '"' {
		if !bytes.ContainsRune(raw, '\\') && !strings.HasPrefix(string(raw[1:]), carried) {
			value = string(raw[1 : len(raw)-1])
		}
	} else if n, ok := exact(raw); ok {
		value = float64(n)
	}
	id, err := jsonrpc.MakeID(value)
	if err != nil {
		panic(fmt.Sprintf("mcpserver: id %q: %v", raw, err)) // strings and numbers are always valid
	}
	return id
}

// exact returns the integer in raw, and whether the SDK keeps it as written.
func exact(raw json.RawMessage) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil && n > -maxExact && n < maxExact && strconv.FormatInt(n, 10) == string(raw)
}

func wireID(id jsonrpc.ID) (json.RawMessage, error) {
	switch v := id.Raw().(type) {
	case nil:
		return json.RawMessage("null"), nil
	case string:
		if raw, ok := strings.CutPrefix(v, carried); ok {
			return json.RawMessage(raw), nil
		}
		return encode(v)
	default:
		return encode(v)
	}
}

// wireError converts an SDK error for the wire. It sets a code if the SDK set none,
// and removes Go types and the caller's input from the message.
func wireError(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		e = &jsonrpc.Error{}
	}
	worded := &jsonrpc.Error{Code: e.Code, Message: err.Error(), Data: e.Data}
	if strings.Contains(worded.Message, "unmarshaling ") {
		worded.Code, worded.Message = jsonrpc.CodeInvalidParams, "invalid params for this method"
	}
	if worded.Code == 0 {
		worded.Code = jsonrpc.CodeInvalidRequest
	}
	worded.Message = textutil.Excerpt(strings.ToValidUTF8(worded.Message, ""), 500)
	return worded
}

// encodeReply encodes a whole reply. Exactly one of result and err is set. A nil ID
// is written as null.
func encodeReply(id json.RawMessage, result json.RawMessage, err *jsonrpc.Error) ([]byte, error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	b := make([]byte, 0, len(id)+len(result)+64)
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	if err == nil {
		return append(append(append(b, `,"result":`...), result...), '}'), nil
	}
	wire, encodeErr := encode(err)
	if encodeErr != nil {
		return nil, fmt.Errorf("encode error: %w", encodeErr)
	}
	return append(append(append(b, `,"error":`...), wire...), '}'), nil
}
