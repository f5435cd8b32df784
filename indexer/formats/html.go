package formats

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlPages converts the main content of an HTML page.
func htmlPages(_ context.Context, c *Converter, w *work) error {
	if isTemplate(w.src) {
		return leave{endingOf(w.Path), "a template"}
	}
	if m := charset().FindSubmatch(w.src[:min(len(w.src), 4<<10)]); m != nil && !utf8.Valid(w.src) && !slices.Contains(latin, strings.ToLower(string(m[1]))) {
		return errors.New("its character set " + strings.ToLower(string(m[1])) + " is not supported; convert it to UTF-8")
	}
	text, err := decode(w.src)
	if err != nil {
		return err
	}
	// The parser returns an error if elements are nested more than 512 deep.
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return errors.New("it cannot be read as HTML: " + oneLine(err.Error()))
	}
	title := titleOf(root)
	main := mainOf(root)
	clean(main)
	flatten(main)
	markdown, err := toMarkdown(main)
	if err != nil {
		return err
	}
	if markdown == "" {
		return nil
	}
	if !hasTitle(markdown) {
		if title == "" {
			title = stem(w.Path)
		}
		markdown = "# " + escapePlain(title) + "\n\n" + markdown
	}
	return c.write(w, "", markdown+"\n", nil)
}

var charset = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)<meta[^>]+charset=["']?([\w-]+)`) })

// latin lists the character sets that decode can read, including those that pages
// often declare wrongly.
var latin = []string{"iso-8859-1", "windows-1252", "latin1", "us-ascii", "ascii", "utf-8", "utf8"}

// toMarkdown converts a tree of HTML nodes to Markdown.
func toMarkdown(n *html.Node) (string, error) {
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		table.NewTablePlugin(table.WithHeaderPromotion(true), table.WithSkipEmptyRows(true), table.WithNewlineBehavior(table.NewlineBehaviorPreserve)),
	))
	b, err := conv.ConvertNode(n)
	if err != nil {
		return "", errors.New("it cannot be converted: " + oneLine(err.Error()))
	}
	return strings.TrimSpace(string(b)), nil
}

// isTemplate reports whether a file is an HTML fragment, or a template with values
// that a program fills in.
func isTemplate(src []byte) bool {
	head := bytes.ToLower(src[:min(len(src), 64<<10)])
	for _, mark := range []string{"<html", "<body", "<!doctype"} {
		if bytes.Contains(head, []byte(mark)) {
			return bytes.Contains(head, []byte("{{")) && bytes.Contains(head, []byte("<title>{{"))
		}
	}
	return bytes.Contains(head, []byte("{{")) || bytes.Contains(head, []byte("{%"))
}

var firstHeading = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^# \S`) })

// hasTitle reports whether a page has a level-1 heading near its top.
func hasTitle(markdown string) bool {
	return firstHeading().MatchString(markdown[:min(len(markdown), 2000)])
}

// titleOf returns the page's title. It removes a site name after a bar or dash.
func titleOf(root *html.Node) string {
	n := find(root, func(n *html.Node) bool { return n.DataAtom == atom.Title && n.Namespace == "" })
	if n == nil || n.FirstChild == nil {
		return ""
	}
	title := oneLine(n.FirstChild.Data)
	for _, mark := range []string{" | ", " — ", " – ", " · ", " - "} {
		if first, _, found := strings.Cut(title, mark); found && first != "" {
			return cut(first, 200)
		}
	}
	return cut(title, 200)
}

// mains lists the selectors of a page's main content, best first. They select HTML
// elements, ARIA roles, and classes of site generators (GitHub, Sphinx, Javadoc,
// Docusaurus, MkDocs, Jekyll, Doxygen).
var mains = []func(*html.Node) bool{
	func(n *html.Node) bool { return n.DataAtom == atom.Main },
	func(n *html.Node) bool { return attribute(n, "role") == "main" },
	func(n *html.Node) bool { return n.DataAtom == atom.Article },
	func(n *html.Node) bool {
		return hasClass(n, "markdown-body", "md-content", "theme-doc-markdown", "rst-content")
	},
	func(n *html.Node) bool {
		return slices.Contains([]string{"content", "main", "main-content", "bodycontent", "doc-content"}, strings.ToLower(attribute(n, "id")))
	},
	func(n *html.Node) bool {
		return hasClass(n, "document", "content", "page-content", "contents") && n.DataAtom == atom.Div
	},
	func(n *html.Node) bool { return n.DataAtom == atom.Body },
}

// mainOf returns the main content. It uses the first selector that matches exactly one
// element that contains text.
func mainOf(root *html.Node) *html.Node {
	for _, fits := range mains {
		var all []*html.Node
		each(root, func(n *html.Node) bool {
			if n.Type == html.ElementNode && fits(n) {
				all = append(all, n)
				return false
			}
			return true
		})
		if len(all) == 1 && hasWords(all[0]) {
			return all[0]
		}
	}
	return root
}

// hasWords reports whether a tree contains at least a few words outside scripts.
func hasWords(n *html.Node) bool {
	words := 0
	each(n, func(n *html.Node) bool {
		if n.Type == html.TextNode {
			words += len(strings.Fields(n.Data))
		}
		return words < 5 && !dropped(n)
	})
	return words >= 5
}

// droppedTags lists the elements that are never converted to text.
var droppedTags = []atom.Atom{atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Nav, atom.Footer, atom.Button, atom.Svg, atom.Math,
	atom.Iframe, atom.Object, atom.Embed, atom.Canvas, atom.Audio, atom.Video, atom.Select, atom.Input, atom.Textarea, atom.Dialog, atom.Head, atom.Link, atom.Meta, atom.Base}

// droppedClasses lists the classes that site generators use for elements around the
// main text.
var droppedClasses = []string{"headerlink", "anchor-link", "header-anchor", "hash-link", "anchorjs-link", "heading-anchor", "sr-only", "visually-hidden", "skip-link", "skip-to-content",
	"toc", "table-of-contents", "breadcrumb", "breadcrumbs", "sidebar", "md-sidebar", "sphinxsidebar", "wy-nav-side", "theme-doc-toc-mobile", "edit-this-page", "theme-edit-this-page", "pagination-nav",
	"prev-next", "page-nav", "site-footer", "site-header", "navbar", "related", "cookie-banner", "copy-button", "copybtn", "linenos", "lineno", "navheader", "navfooter"}

var droppedRoles = []string{"navigation", "contentinfo", "search", "banner", "complementary", "dialog", "alertdialog"}

// notes matches the classes of notes, tips and warnings.
var notes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(note|tip|info|warning|danger|caution|important|admonition|callout|starlight-aside)\b`)
})

// dropped reports whether a node is not part of the content.
func dropped(n *html.Node) bool {
	if n.Type == html.CommentNode {
		return true
	}
	if n.Type != html.ElementNode {
		return false
	}
	if n.Namespace != "" || slices.Contains(droppedTags, n.DataAtom) || slices.Contains([]string{"script", "style"}, strings.ToLower(n.Data)) {
		return true
	}
	switch n.DataAtom {
	case atom.Header, atom.Form: // keep an article's header, and a form that encloses an entire old page
		return find(n, func(n *html.Node) bool { return n.DataAtom == atom.H1 || n.DataAtom == atom.H2 }) == nil
	case atom.Aside: // some site generators use it for notes
		return !notes().MatchString(attribute(n, "class"))
	}
	style := strings.ReplaceAll(strings.ToLower(attribute(n, "style")), " ", "")
	// An inactive tab is hidden, but its text is part of the content.
	return has(n, "hidden") && attribute(n, "role") != "tabpanel" || attribute(n, "aria-hidden") == "true" || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") ||
		slices.Contains(droppedRoles, attribute(n, "role")) || hasClass(n, droppedClasses...)
}

// clean removes nodes that are not content. It also removes attributes that make the
// converter slow: cell spans and data URLs.
func clean(n *html.Node) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if dropped(child) {
			n.RemoveChild(child)
		} else {
			clean(child)
		}
		child = next
	}
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
		address := strings.ToLower(strings.TrimSpace(a.Val))
		return a.Key == "colspan" || a.Key == "rowspan" || strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "javascript:") || strings.HasPrefix(a.Key, "on")
	})
}

// maxCells is the maximum number of cells in a table, counted after the converter has
// padded all rows to the length of the longest row.
const maxCells = 100_000

// flatten converts tables with more than maxCells cells to paragraphs.
func flatten(root *html.Node) {
	each(root, func(n *html.Node) bool {
		if n.DataAtom != atom.Table || n.Type != html.ElementNode {
			return true
		}
		rows, longest, cells := 0, 0, 0
		each(n, func(n *html.Node) bool {
			switch n.DataAtom {
			case atom.Tr:
				rows, cells = rows+1, 0
			case atom.Td, atom.Th:
				cells++
				longest = max(longest, cells)
			}
			return true
		})
		if rows*longest > maxCells {
			each(n, func(n *html.Node) bool {
				if slices.Contains([]atom.Atom{atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Colgroup}, n.DataAtom) {
					n.DataAtom, n.Data = atom.Div, "div"
				}
				return true
			})
		}
		return true
	})
}

// each calls visit for the nodes in a tree. If visit returns false for a node, each
// skips the node's children.
func each(n *html.Node, visit func(*html.Node) bool) {
	if !visit(n) {
		return
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		each(child, visit)
	}
}

// find returns the first element for which fits returns true, or nil if there is
// none.
func find(root *html.Node, fits func(*html.Node) bool) (found *html.Node) {
	each(root, func(n *html.Node) bool {
		if found == nil && n.Type == html.ElementNode && fits(n) {
			found = n
		}
		return found == nil
	})
	return found
}

func has(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func hasClass(n *html.Node, classes ...string) bool {
	for _, class := range strings.Fields(strings.ToLower(attribute(n, "class"))) {
		if slices.Contains(classes, class) {
			return true
		}
	}
	return false
}
