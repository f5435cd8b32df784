package page

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// leastPacked is the minimum size of a page that is compressed, in bytes. A smaller
// page fits into one packet.
const leastPacked = 1400

// packs reports whether a page may be compressed for a request.
//
// The length of a compressed page can reveal its content (BREACH): an attacker
// makes a browser request the page with a text of the attacker's choice, and
// measures the length of the answer. A page contains tokens, questions and code in
// addition to text from the request. So it is compressed only if the request was
// started by one of this server's pages, or by the person at the address bar.
// Browsers report this with each request, and no page can change it. All other
// requests, and browsers that report nothing, get the page uncompressed. Event
// streams are not pages and are not handled here.
func packs(r *http.Request, size int) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return size >= leastPacked && (from == "same-origin" || from == "none") && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

// packed compresses a page quickly.
func packed(page []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
	_, _ = w.Write(page)                            // a buffer accepts everything
	_ = w.Close()
	return b.Bytes()
}
