package page

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// leastPacked is the minimum size, in bytes, of a page that is compressed. A
// smaller page fits into one packet.
const leastPacked = 1400

// packs reports whether a page may be compressed for a request.
//
// The length of a compressed page can reveal the page's content (BREACH). An
// attacker makes a browser request the page with text that the attacker has
// chosen, and measures the length of the answer. A page contains tokens,
// questions and code in addition to text from the request. It is therefore
// compressed only if the request was started by one of this server's pages, or
// by the person at the address bar. Browsers report this with each request, and
// a page cannot change the report. All other requests get the page
// uncompressed, and so do browsers that report nothing. Event streams are not
// pages and are not handled here.
func packs(r *http.Request, size int) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return size >= leastPacked && (from == "same-origin" || from == "none") && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

// packed returns a page compressed at the fastest level.
func packed(page []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // no error: the level is valid
	_, _ = w.Write(page)                            // writing to a buffer cannot fail
	_ = w.Close()
	return b.Bytes()
}
