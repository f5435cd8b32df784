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

// modernVersion is the first protocol version without sessions. Each request names
// its own caller and version.
const modernVersion = "2026-07-28"

// versions lists the versions that the SDK supports, newest first.
var versions = mcp.SupportedProtocolVersions()

// known reports whether a version header is accepted: a supported version, or none,
// because versions before 2025-06-18 have no such header. A later date is accepted
// too, because the SDK rejects it together with the new era's other requirements.
func known(version string) bool {
	if version == "" || slices.Contains(versions, version) {
		return true
	}
	_, err := time.Parse(time.DateOnly, version)
	return err == nil && version > modernVersion
}

// read returns the request's body, or refuses a request that the transport does not
// allow and returns false.
func (d *httpDoor) read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuseHTTP(w, http.StatusUnsupportedMediaType, nil, invalidRequest("Content-Type must be application/json"))
		return nil, false
	}
	if !accepts(r, "application/json") || !accepts(r, "text/event-stream") {
		refuseHTTP(w, http.StatusNotAcceptable, nil, invalidRequest("Accept must contain application/json and text/event-stream"))
		return nil, false
	}
	most := d.server.opts.MaxBodyBytes
	if r.ContentLength > most { // refused before any of it is read
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

// readAll works like [io.ReadAll] for a body of the given length, or -1 if the
// length is unknown. It allocates once; growing a buffer takes five times as much
// memory.
func readAll(r io.Reader, length int64) ([]byte, error) {
	if length < 0 {
		return io.ReadAll(r)
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}

// accepts reports whether the Accept header includes kind, directly or by a
// wildcard.
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

// inexact returns the error for an ID that the SDK would change in its answer. Over
// HTTP, the answer's ID cannot be restored.
func inexact(f *frame) *jsonrpc.Error {
	id := f.id
	if f.method == "notifications/cancelled" {
		if id = f.member("requestId"); id == nil || !validID(id) {
			return invalidRequest("requestId is not a valid id") // the SDK would truncate 1.5 to 1 and cancel call 1
		}
	}
	if id == nil || !isInteger(id) {
		return nil
	}
	if _, ok := exact(id); ok {
		return nil
	}
	return invalidRequest("an integer id must be between -2^53 and 2^53")
}
