package page

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// formCookie is the name of a cookie with a random string for each browser.
// Form tokens are derived from this string. Another site can make a browser
// send the cookie, but cannot read it.
const formCookie = "deskhand_form"

// Token returns the token for a page's forms. It sets a cookie if the browser has
// none.
func (s *Shell) Token(w http.ResponseWriter, r *http.Request) string {
	c, err := r.Cookie(formCookie)
	if err != nil || c.Value == "" {
		c = &http.Cookie{Name: formCookie, Value: rand.Text(), Path: "/", HttpOnly: true, Secure: s.Secure(r), SameSite: http.SameSiteStrictMode, MaxAge: 400 * 24 * 3600}
		http.SetCookie(w, c)
		r.AddCookie(c) // for another page in the same request
	}
	return s.sign(c.Value)
}

// Secure reports whether the request came over TLS, either to this server or to
// a proxy. If so, cookies are restricted to TLS. A client that falsely claims
// TLS only gets cookies that it cannot use.
func (s *Shell) Secure(r *http.Request) bool {
	at := url.URL{Host: r.Host}
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") || s.TLSHost != "" && strings.EqualFold(at.Hostname(), s.TLSHost)
}

func (s *Shell) sign(cookie string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("form " + cookie))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// TokenHeader is the header that contains the token in requests that do not
// send a form.
const TokenHeader = "Deskhand-Token"

// Checked reports whether a request that changes something comes from one of
// our pages. The request's token must match its cookie. The token is in the
// field "token" or in [TokenHeader]. A request with the bearer token needs no
// form token, because no page can make a browser send the bearer token.
func (s *Shell) Checked(r *http.Request) bool {
	if r.Header.Get("Authorization") != "" {
		return true
	}
	c, err := r.Cookie(formCookie)
	if err != nil {
		return false
	}
	given := r.Header.Get(TokenHeader)
	if given == "" {
		given = r.PostFormValue("token")
	}
	return hmac.Equal([]byte(given), []byte(s.sign(c.Value)))
}

// maxForm is the maximum size of a form in bytes, which is also the limit of
// [http.Request.ParseForm].
const maxForm = 10 << 20

// ReadForm parses a request's form. If the form is too big, the error is a
// *[http.MaxBytesError]. [Shell.Checked] alone would report that such a request
// has no token.
func ReadForm(r *http.Request) error {
	if r.Body != nil && r.PostForm == nil {
		r.Body = http.MaxBytesReader(nil, r.Body, maxForm)
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" { // a form with a file
		return r.ParseMultipartForm(maxForm)
	}
	return r.ParseForm()
}

// Local returns to if it is a path on this server, and "" otherwise.
func Local(to string) string {
	if !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return ""
	}
	return to
}

// Once returns a request ID for a form's action. If the form is sent twice, the
// ID is the same. If the form was changed in between, the ID differs. If the
// form has no field "once", the ID is empty.
func Once(r *http.Request) string {
	given := r.PostFormValue("once")
	if given == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(r.PostForm.Encode())) // Encode sorts the fields by name
	return given[:min(len(given), 64)] + "-" + hex.EncodeToString(sum[:8])
}
