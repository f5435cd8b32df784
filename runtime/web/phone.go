package web

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	qr "github.com/piglig/go-qr"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// phonePath is the page with a code that a phone scans to open the pages.
const phonePath = "/phone"

// phoneData is the data of the page.
type phoneData struct {
	Link   string // address in the code; empty if a phone cannot reach this server
	Code   template.HTML
	SignIn bool // whether the link signs the phone in
}

// phone shows the address of the pages as a QR code. For the owner it is a single-use
// link that signs the phone in. People with names sign in there as they did here.
func (s *Server) phone() http.Handler {
	t := s.opts.Shell.Parse(templates, "templates/phone.html")
	return reads(func(w http.ResponseWriter, r *http.Request) {
		var d phoneData
		if base := s.outside(r); base != "" {
			d.Link = base + "/"
			caller := access.Of(r.Context())
			if d.SignIn = caller.Name == "" && caller.Session != ""; d.SignIn {
				d.Link = s.opts.People.LoginLink(base, "/")
			}
			code, err := qr.EncodeText(d.Link, qr.Medium)
			if err != nil { // the address is longer than a code can be
				s.opts.Logger.Error("cannot draw a QR code", "error", err)
			} else {
				d.Code = drawn(code)
			}
		}
		s.opts.Shell.Write(w, r, http.StatusOK, t, "", page.Page{Title: "Open on a phone", Data: d})
	})
}

// outside returns the address at which other machines reach the pages, without a slash at
// its end, or "" if there is none.
func (s *Server) outside(r *http.Request) string {
	for _, base := range []string{s.opts.Public, "http://" + r.Host + page.Prefix(r.Context())} {
		if u, err := url.Parse(base); err == nil && u.Host != "" && !page.ThisMachine(u.Hostname()) {
			return strings.TrimSuffix(base, "/")
		}
	}
	return ""
}

// quietZone is the number of light modules around a QR code (ISO/IEC 18004, 9.1).
const quietZone = 4

// drawn returns a QR code as an inline SVG, dark on light in any colour scheme, because
// not every camera reads an inverted one.
func drawn(code *qr.QrCode) template.HTML {
	var dark strings.Builder
	for y := range code.Size() {
		for x := 0; x < code.Size(); x++ {
			from := x
			for code.Module(x, y) {
				x++
			}
			if x > from {
				fmt.Fprintf(&dark, "M%d %dh%dv1h-%dz", from+quietZone, y+quietZone, x-from, x-from)
			}
		}
	}
	side := code.Size() + 2*quietZone
	return template.HTML(fmt.Sprintf(`<svg class="qr" viewBox="0 0 %d %d" role="img" aria-label="QR code of the link" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h%dv%dH0z"/><path fill="#000" d="%s"/></svg>`,
		side, side, side, side, dark.String()))
}
