package mcpserver

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// modernVersion is the first protocol version without sessions: each request
// says on its own who asks and in which version.
const modernVersion = "2026-07-28"

// versions are those that the SDK speaks, newest first.
var versions = mcp.SupportedProtocolVersions()

// known accepts the version of a header that the server speaks, and none:
// before 2025-06-18 there was no such header. A date of the future passes too,
// since the SDK refuses it together with what else the new era demands.
func known(version string) bool {
	if version == "" || slices.Contains(versions, version) {
		return true
	}
	_, err := time.Parse(time.DateOnly, version)
	return err == nil && version > modernVersion
}

// read returns the body of a request that the transport allows.
func (d *httpDoor) read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuseHTTP(w, http.StatusUnsupportedMediaType, nil, invalidRequest("Content-Type must be application/json"))
		return nil, false
	}
	if !accepts(r, "application/json") || !accepts(r, "text/event-stream") {
		refuseHTTP(w, http.StatusNotAcceptable, nil, invalidRequest("Accept must hold application/json and text/event-stream"))
		return nil, false
	}
	most := d.server.opts.MaxBodyBytes
	if r.ContentLength > most { // none of it is read
		w.Header().Set("Connection", "close")
		refuseHTTP(w, http.StatusRequestEntityTooLarge, nil, invalidRequest("a message can have at most %d bytes", most))
		return nil, false
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, most), r.ContentLength)
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		refuseHTTP(w, http.StatusRequestEntityTooLarge, nil, invalidRequest("a message can have at most %d bytes", tooLarge.Limit))
		return nil, false
	}
	if err != nil { // the client went away or was too slow
		refuseHTTP(w, http.StatusRequestTimeout, nil, invalidRequest("the body did not arrive completely"))
		return nil, false
	}
	return body, true
}

// readAll is [io.ReadAll] for what has a known length, or -1: it takes the memory
// once, where growing takes five times as much.
func readAll(r io.Reader, length int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(r)
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}

// accepts reports whether the Accept header names kind, or a range with it.
func accepts(r *http.Request, kind string) bool {
	group, _, _ := strings.Cut(kind, "/")
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			part, _, _ = strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(part)) {
			case kind, group + "/*", "*/*":
				return true
			}
		}
	}
	return false
}

func withBody(r *http.Request, body []byte) *http.Request {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return r
}

// inexact refuses an id that the SDK would answer with another: over HTTP the
// answer cannot be mapped back on its way out.
func inexact(f *frame) *jsonrpc.Error {
	id := f.id
	if f.method == "notifications/cancelled" {
		if id = f.member("requestId"); id == nil || !validID(id) {
			return invalidRequest("requestId is not a valid id") // the SDK would cut 1.5 to 1, and cancel that
		}
	}
	if id == nil || !isInteger(id) {
		return nil
	}
	if _, ok := exact(id); ok {
		return nil
	}
	return invalidRequest("an integer id must lie within 2^53")
}
