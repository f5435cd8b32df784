package mcpserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// refuseHTTP answers with a JSON-RPC error. A nil id is written as null.
func refuseHTTP(w http.ResponseWriter, status int, id []byte, err *jsonrpc.Error) {
	data, encodeErr := encodeReply(id, nil, err)
	if encodeErr != nil {
		http.Error(w, fmt.Sprint(err.Message), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client is gone if this fails
}

// refuseCall refuses a message that arrived correctly.
func refuseCall(w http.ResponseWriter, f *frame, modern bool, err *jsonrpc.Error) {
	refuseHTTP(w, refusedStatus(f, modern, err.Code), f.id, err)
}

// refusedStatus returns 200 for calls of the era with sessions. With this status,
// clients of that era show the error in the body; with any other, they show only
// the status. The era without sessions requires 404 for unknown methods.
func refusedStatus(f *frame, modern bool, code int64) int {
	switch {
	case !modern && f.kind == call:
		return http.StatusOK
	case modern && code == jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// misnamed reports whether the header of a request about a task names another task
// or none. A proxy may then have sent the request to the wrong server. The SDK
// checks this header only for the methods that it knows.
func misnamed(r *http.Request, f *frame) bool {
	var task string
	return taskMethods[f.method] != nil && (json.Unmarshal(f.member("taskId"), &task) != nil || r.Header.Get(nameHeader) != task)
}

// refuseMethod refuses an HTTP method and lists the allowed ones.
func refuseMethod(w http.ResponseWriter, postOnly bool, err *jsonrpc.Error) {
	w.Header().Set("Allow", "POST, GET, DELETE")
	if postOnly {
		w.Header().Set("Allow", "POST")
	}
	refuseHTTP(w, http.StatusMethodNotAllowed, nil, err)
}

// sessionEnded returns the error that goes with 404, which tells clients to start
// again.
func sessionEnded() *jsonrpc.Error {
	return invalidRequest("session not found: it has ended; call initialize again without the %s header", sessionHeader)
}

func unknownVersion(version string) *jsonrpc.Error {
	err := &jsonrpc.Error{
		Code:    mcp.CodeUnsupportedProtocolVersion,
		Message: fmt.Sprintf("%s %.40q is not supported: send one of %s", versionHeader, version, strings.Join(versions, ", ")),
	}
	if data, encodeErr := encode(mcp.UnsupportedProtocolVersionData{Supported: versions, Requested: strings.ToValidUTF8(version, "?")}); encodeErr == nil {
		err.Data = data
	}
	return err
}
