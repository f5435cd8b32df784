package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/deskhand/deskhand/runtime/web/manualpage"
	"github.com/deskhand/deskhand/runtime/web/page"
)

//go:embed static
var static embed.FS

// linking lists the attributes that refer to other files.
var linking = []string{"href", "src", "action"}

// serverOnly are the parts of a page's head that only a server has.
var serverOnly = []string{`name="token"`, `rel="manifest"`, `rel="apple-touch-icon"`}

// moved returns a page of the server as the site's file with the given path: its links are
// relative, and its head has the site's style and script.
func moved(text, file, description string) ([]byte, error) {
	var out bytes.Buffer
	up := strings.Repeat("../", strings.Count(file, "/"))
	for z := html.NewTokenizer(strings.NewReader(text)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return out.Bytes(), nil // the end
		}
		raw := string(z.Raw())
		token := z.Token()
		switch {
		case kind == html.EndTagToken && token.Data == "head":
			fmt.Fprintf(&out, "<meta name=\"description\" content=\"%s\">\n<script src=\"%sstatic/site.js\" defer></script>\n",
				html.EscapeString(description), up)
		case kind != html.StartTagToken && kind != html.SelfClosingTagToken:
		case slices.ContainsFunc(serverOnly, func(part string) bool { return strings.Contains(raw, part) }):
			continue
		default:
			changed := false
			for i, a := range token.Attr {
				if slices.Contains(linking, a.Key) && strings.HasPrefix(a.Val, "/") {
					to, err := relative(a.Val, up)
					if err != nil {
						return nil, fmt.Errorf("%s: %w", file, err)
					}
					token.Attr[i].Val, changed = to, true
				}
			}
			if changed {
				raw = token.String()
			}
		}
		out.WriteString(raw)
		if kind == html.EndTagToken && token.Data == "form" {
			fmt.Fprint(&out, "\n<noscript><p class=\"small soft\">The search needs JavaScript. The contents list every page.</p></noscript>")
		}
	}
}

// relative returns the site's link for a path of the server. up leads to the site's top.
func relative(address, up string) (string, error) {
	address, anchor, anchored := strings.Cut(address, "#")
	address, _, _ = strings.Cut(address, "?")
	if anchored {
		anchor = "#" + anchor
	}
	if address == "/" || address == manualpage.Path {
		return up + "index.html" + anchor, nil
	}
	if name, ok := strings.CutPrefix(address, manualpage.Path+"/"); ok {
		return up + fileOf(name) + anchor, nil
	}
	if name, ok := strings.CutPrefix(address, page.StaticPath); ok {
		return up + "static/" + name, nil
	}
	return "", fmt.Errorf("a link leads to %s, which is not part of the manual", address)
}

// reference is a link in a page.
type reference struct {
	to string
	// loads reports that the browser requests the address by itself.
	loads bool
}

// check returns an error that lists the links that lead nowhere: to a missing file or to a
// missing heading. A page that loads something from another host is an error too.
func check(files map[string][]byte) error {
	anchors, links := map[string]map[string]bool{}, map[string][]reference{}
	for _, name := range sorted(files, ".html") {
		anchors[name], links[name] = scan(files[name])
	}
	var found []error
	for _, name := range sorted(files, ".html") {
		for _, link := range links[name] {
			if problem := follow(name, link, files, anchors); problem != "" {
				found = append(found, fmt.Errorf("%s: the link %s: %s", name, link.to, problem))
			}
		}
	}
	return errors.Join(found...)
}

// follow returns what is wrong with a link, or "".
func follow(from string, link reference, files map[string][]byte, anchors map[string]map[string]bool) string {
	if strings.Contains(link.to, "://") || strings.HasPrefix(link.to, "//") || strings.HasPrefix(link.to, "mailto:") {
		if link.loads {
			return "the page loads something from another host"
		}
		return ""
	}
	target, anchor, anchored := strings.Cut(link.to, "#")
	at := from
	if target != "" {
		at = path.Join(path.Dir(from), target)
	}
	if strings.HasPrefix(target, "/") || strings.HasPrefix(at, "..") {
		return "it leads out of the site"
	}
	if _, ok := files[at]; !ok {
		return "there is no such file"
	}
	if anchored && !anchors[at][anchor] {
		return "the page has no such heading"
	}
	return ""
}

// scan returns a page's IDs and links.
func scan(text []byte) (ids map[string]bool, links []reference) {
	ids = map[string]bool{}
	for z := html.NewTokenizer(bytes.NewReader(text)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return ids, links
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		token := z.Token()
		for _, a := range token.Attr {
			switch {
			case a.Key == "id":
				ids[a.Val] = true
			case slices.Contains(linking, a.Key):
				links = append(links, reference{a.Val, token.Data != "a" && token.Data != "form"})
			}
		}
	}
}
