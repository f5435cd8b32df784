package page

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// baseKey is the context key of the address below which a request's pages lie.
type baseKey struct{}

// WithBase returns a context for a request that came to a server behind a proxy, whose
// pages lie below base, for example https://example.org/deskhand.
func WithBase(ctx context.Context, base *url.URL) context.Context {
	return context.WithValue(ctx, baseKey{}, base)
}

// Prefix returns the path below which a request's pages lie, without a slash at its end.
// It is empty if they lie at the root.
func Prefix(ctx context.Context) string {
	base, _ := ctx.Value(baseKey{}).(*url.URL)
	if base == nil {
		return ""
	}
	return strings.TrimSuffix(base.EscapedPath(), "/")
}

// Address returns the address of this server that r was sent to, without a slash at its
// end: the one that the server was given with a base, or else that of the request.
func Address(r *http.Request) string {
	if base, _ := r.Context().Value(baseKey{}).(*url.URL); base != nil && strings.EqualFold(base.Hostname(), (&url.URL{Host: r.Host}).Hostname()) {
		return strings.TrimSuffix(base.String(), "/")
	}
	scheme := "http://"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https://"
	}
	return scheme + r.Host + Prefix(r.Context())
}

// rooted matches the attributes of a tag whose value is a path of this server.
var rooted = regexp.MustCompile(`(\s(?:href|src|action|formaction|data-news|data-src)=")(/[^"]*)`)

// below puts prefix before each path in the tags of a page, and tells the page's scripts
// about it. Text is unchanged, whatever it contains.
func below(body []byte, prefix string) []byte {
	var out bytes.Buffer
	out.Grow(len(body) + 4096)
	for z := html.NewTokenizer(bytes.NewReader(body)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out.Bytes() // the end; a page of ours has no other
		}
		raw := z.Raw()
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			out.Write(raw)
			continue
		}
		tag := rooted.ReplaceAllStringFunc(string(raw), func(attribute string) string {
			name, path, _ := strings.Cut(attribute, `"`)
			if strings.HasPrefix(path, "//") {
				return attribute
			}
			return name + `"` + prefix + path
		})
		if strings.HasPrefix(tag, "<html") {
			tag = `<html data-base="` + html.EscapeString(prefix) + `"` + strings.TrimPrefix(tag, "<html")
		}
		out.WriteString(tag)
	}
}
