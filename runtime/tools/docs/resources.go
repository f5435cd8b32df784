package docs

import (
	"context"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/search"
)

// resources returns the pages that have a facet value which the corpus marks as
// an MCP resource.
func resources(engine *search.Engine) ([]contract.Resource, error) {
	taxonomy := engine.Metadata().Taxonomy
	marked := false
	for _, facet := range taxonomy {
		for _, v := range facet.Properties {
			marked = marked || v.MCPResource
		}
	}
	if !marked {
		return nil, nil
	}
	pages, err := engine.PagesWith(func(metadata map[string]string) bool {
		for k, v := range metadata {
			if taxonomy[k].Properties[v].MCPResource {
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	var out []contract.Resource
	for _, p := range pages {
		out = append(out, contract.Resource{
			URI: (&url.URL{Scheme: "docs", Path: "/" + p.Path}).String(), Name: p.Path, Title: resourceTitle(p.Path, p.Title), Description: p.Path,
			MIMEType: "text/markdown",
			Read:     func(context.Context) (string, error) { return wholePage(engine, p.Path) },
		})
	}
	return out, nil
}

// wholePage returns a page's text without its front matter.
func wholePage(engine *search.Engine, path string) (string, error) {
	p, err := engine.Page(path)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, c := range p.Chunks {
		b.WriteString(c.Markdown)
	}
	return b.String(), nil
}

// acronyms holds the words in folder names whose capitalization is irregular.
var acronyms = map[string]string{
	"ai": "AI", "api": "API", "apis": "APIs", "aws": "AWS", "ci": "CI", "cli": "CLI", "css": "CSS", "faq": "FAQ", "grpc": "gRPC",
	"html": "HTML", "http": "HTTP", "https": "HTTPS", "id": "ID", "io": "IO", "json": "JSON", "jwt": "JWT", "mcp": "MCP",
	"oauth": "OAuth", "rest": "REST", "sdk": "SDK", "sdks": "SDKs", "sql": "SQL", "sso": "SSO", "tls": "TLS", "ui": "UI",
	"url": "URL", "yaml": "YAML",
}

// resourceTitle returns a path's folders and the page's title in a readable form:
// "SDKs / Go / Retries in go".
func resourceTitle(path, title string) string {
	folders := strings.Split(path, "/")
	file := folders[len(folders)-1]
	var parts []string
	for _, folder := range folders[:len(folders)-1] {
		parts = append(parts, titleCase(folder))
	}
	if title == "" {
		title = titleCase(strings.TrimSuffix(file, ".md"))
	}
	return strings.Join(append(parts, title), " / ")
}

func titleCase(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' || r == ' ' })
	for i, w := range words {
		if known, ok := acronyms[strings.ToLower(w)]; ok {
			words[i] = known
			continue
		}
		first, size := utf8.DecodeRuneInString(w)
		words[i] = string(unicode.ToUpper(first)) + w[size:]
	}
	return strings.Join(words, " ")
}
