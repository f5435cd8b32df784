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
	_, _ = w.Write(data) // nobody is left to tell
}

// refuseCall refuses a message whose transport is in order.
func refuseCall(w http.ResponseWriter, f *frame, modern bool, err *jsonrpc.Error) {
	refuseHTTP(w, refusedStatus(f, modern, err.Code), f.id, err)
}

// refusedStatus is 200 for calls of the era with sessions, as its clients show
// the error of the body then and the status alone otherwise. The era without
// wants 404 for unknown methods.
func refusedStatus(f *frame, modern bool, code int64) int {
	switch {
	case !modern && f.kind == call:
		return http.StatusOK
	case modern && code == jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// misnamed reports whether a request about a task names another one in its
// header, or none, by which a proxy may have sent it to the wrong server. The
// SDK checks the header of methods it knows.
func misnamed(r *http.Request, f *frame) bool {
	var task string
	return taskMethods[f.method] != nil && (json.Unmarshal(f.member("taskId"), &task) != nil || r.Header.Get(nameHeader) != task)
}

// refuseMethod refuses an HTTP method, and says which ones there are.
func refuseMethod(w http.ResponseWriter, postOnly bool, err *jsonrpc.Error) {
	w.Header().Set("Allow", "POST, GET, DELETE")
	if postOnly {
		w.Header().Set("Allow", "POST")
	}
	refuseHTTP(w, http.StatusMethodNotAllowed, nil, err)
}

// sessionEnded comes with 404, by which clients know that they are to begin
// anew.
func sessionEnded() *jsonrpc.Error {
	return invalidRequest("session not found: it has ended, call initialize again without the %s header", sessionHeader)
}

func unknownVersion(version string) *jsonrpc.Error {
	err := &jsonrpc.Error{
		Code:    mcp.CodeUnsupportedProtocolVersion,
		Message: fmt.Sprintf("%s %.40q is not supported, send one of %s", versionHeader, version, strings.Join(versions, ", ")),
	}
	if data, encodeErr := encode(mcp.UnsupportedProtocolVersionData{Supported: versions, Requested: strings.ToValidUTF8(version, "?")}); encodeErr == nil {
		err.Data = data
	}
	return err
}
