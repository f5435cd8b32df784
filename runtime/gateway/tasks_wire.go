package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// This file implements the parts of tasks that the SDK lacks: additional members
// and results of tools/call, the task methods, the tools' task settings, and the
// headers.

// rawCall is the method name under which the SDK sends tools/call with unsupported
// members. It is replaced by tools/call when the message is sent.
const rawCall = "deskhand/tools/call"

var taskMethods = []string{rawCall, "tasks/get", "tasks/update", "tasks/cancel", "tasks/result"}

type taskParams struct {
	mcp.ParamsBase
	Name           string          `json:"name,omitempty"`
	Arguments      any             `json:"arguments,omitempty"`
	Task           *taskWish       `json:"task,omitempty"` // 2025-11-25 only
	InputResponses map[string]any  `json:"inputResponses,omitempty"`
	RequestState   json.RawMessage `json:"requestState,omitempty"`
	TaskID         string          `json:"taskId,omitempty"`
}

type taskWish struct {
	TTL int64 `json:"ttl"` // milliseconds
}

// taskTTL is how long an upstream is asked to keep a task.
const taskTTL = 24 * time.Hour

// rawAnswer is a result that the SDK has not decoded.
type rawAnswer struct {
	mcp.ResultBase
	raw json.RawMessage
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *rawAnswer) UnmarshalJSON(b []byte) error {
	r.raw = bytes.Clone(b)
	return nil
}

// speaksTasks registers the task methods with the client.
func speaksTasks(client *mcp.Client) error {
	for _, method := range taskMethods {
		if err := mcp.AddSendingCustomMethod[*taskParams, *rawAnswer](client, method); err != nil {
			return err
		}
	}
	return nil
}

// outward replaces the method name of a raw call, for stdio.
func outward(message jsonrpc.Message) jsonrpc.Message {
	if r, ok := message.(*jsonrpc.Request); ok && r.Method == rawCall {
		own := *r
		own.Method = "tools/call"
		return &own
	}
	return message
}

// maxHead exceeds the number of bytes before a request's method.
const maxHead = 256

// outwardHTTP replaces the method name of a raw call, for HTTP. It also sets the
// headers that name a request's method and target, which the SDK does not set for
// unsupported methods.
func outwardHTTP(r *http.Request) error {
	if r.Method != http.MethodPost || r.Body == nil {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return err
	}
	head := body[:min(len(body), maxHead)]
	if bytes.Contains(head, []byte(`"method":"`+rawCall+`"`)) || bytes.Contains(head, []byte(`"method":"tasks/`)) {
		body = bytes.Replace(body, []byte(`"method":"`+rawCall+`"`), []byte(`"method":"tools/call"`), 1)
		var request struct {
			Method string
			Params struct{ Name, TaskID string }
		}
		if err := json.Unmarshal(body, &request); err != nil {
			return err
		}
		if r.Header.Get("Mcp-Method") != "" {
			r.Header.Set("Mcp-Method", request.Method)
			r.Header.Set("Mcp-Name", request.Params.Name+request.Params.TaskID)
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return nil
}

// taskTools returns the names of those tools in a message that can only be called
// as a task. The SDK does not read this setting.
func taskTools(message []byte) (names []string) {
	if !bytes.Contains(message, []byte(`"taskSupport"`)) {
		return nil
	}
	type listed struct {
		Tools []struct {
			Name      string
			Execution struct{ TaskSupport string }
		}
	}
	var m struct {
		listed
		Result listed
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	for _, tool := range append(m.Tools, m.Result.Tools...) {
		if strings.EqualFold(tool.Execution.TaskSupport, "required") {
			names = append(names, tool.Name)
		}
	}
	return names
}
