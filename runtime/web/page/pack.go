package page

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
)

// leastPacked is from which size on a page is compressed: less fits into a packet.
const leastPacked = 1400

// packs reports whether a page may be compressed for a request.
//
// The length of a compressed page tells something of what is in it to who can
// make a browser ask for the page with a text of their own and see how long the
// answer is (BREACH): a page has tokens, questions and code beside words that
// came with the request. So it is compressed only for requests that a page of
// this server began, or the person at the address bar, which browsers say of each
// request and no page can change. Anything else, and a browser that does not say,
// gets it as it is. Event streams are not pages and do not come here.
func packs(r *http.Request, size int) bool {
	from := r.Header.Get("Sec-Fetch-Site")
	return size >= leastPacked && (from == "same-origin" || from == "none") && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

// packed is a page that was made, compressed quickly.
func packed(page []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // a level there is
	_, _ = w.Write(page)                            // a buffer takes all
	_ = w.Close()
	return b.Bytes()
}
