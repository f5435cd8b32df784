package mcpserver

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// held reports whether a message is a call that may be held. A call that continues one with a
// person's reply is not, so that people can always answer.
func held(f *frame) bool {
	return f.kind == call && (f.method == "subscriptions/listen" || f.method == "tools/call" && f.member("inputResponses") == nil)
}

// codeBusy is the code of a JSON-RPC error of ours: the server cannot hold more calls.
const codeBusy = -32050

// retryAfter is after how many seconds a refused call may be repeated.
const retryAfter = "5"

// hold takes a place for a call until leave is called. If there is none, it refuses the call.
func (d *httpDoor) hold(w http.ResponseWriter, f *frame) (leave func(), ok bool) {
	if d.server.opts.Hold == nil {
		return func() {}, true
	}
	leave, ok = d.server.opts.Hold()
	if !ok {
		w.Header().Set("Connection", "close") // gives the connection to others
		w.Header().Set("Retry-After", retryAfter)
		refuseHTTP(w, http.StatusServiceUnavailable, f.id, &jsonrpc.Error{Code: codeBusy,
			Message: "this server already holds as many calls as its memory allows: retry in " + retryAfter + " seconds"})
	}
	return leave, ok
}
