package source

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/netguard"
)

// SitePrefix is the prefix of a site's address, for example
// "site:https://example.com/docs/".
const SitePrefix = "site:"

func isSite(address string) bool { return strings.HasPrefix(address, SitePrefix) }

// Limits on sitemaps. A single sitemap may contain 50,000 addresses.
const (
	maxSitemap   = 50 << 20
	maxSitemaps  = 50
	maxAddresses = 200_000
	// maxAddress is the maximum length of a page's address. According to sitemaps.org, it
	// is below 2,048.
	maxAddress = 32 << 10
)

// openSite downloads the pages that are in the site's sitemap and below an address. It
// does not request pages again that an earlier, killed run downloaded. The server does
// not send unchanged pages again.
func openSite(ctx context.Context, address string, o Options) (_ *Source, err error) {
	start, err := webAddress(strings.TrimPrefix(address, SitePrefix))
	if err != nil {
		return nil, err
	}
	c, err := openCrawl(start, o)
	if err != nil {
		return nil, err
	}
	defer c.close()
	s, err := onWeb(start, SitePrefix+start.String(), o)
	if err != nil {
		return nil, err
	}
	if err = c.run(ctx, s, o); err != nil {
		s.Close()
		return nil, err
	}
	s.LeftOut = c.left.list()
	return s, nil
}

// crawl is a visit to a site.
type crawl struct {
	*visitor
	*journal
	robots robots
}

func openCrawl(start *url.URL, o Options) (*crawl, error) {
	j, err := openJournal(start, o)
	if err != nil {
		return nil, err
	}
	c := &crawl{visitor: newVisitor(start, o), journal: j}
	// A page on another host belongs to another site, even if this site redirects
	// to it.
	redirect := c.client.CheckRedirect
	c.client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		switch {
		case r.URL.Host != start.Host:
			return &outside{r.URL}
		case !c.robots.allows(r.URL.RequestURI()):
			return errDisallowed
		}
		return redirect(r, via)
	}
	return c, nil
}

// errDisallowed is the reason for a page that robots.txt disallows.
const errDisallowed = redirectError("disallowed by robots.txt")

// outside is the error for a page on another host.
type outside struct{ at *url.URL }

func (o *outside) Error() string { return "it redirects to " + o.at.Host }

// run downloads the pages and writes them to the folder of the source s.
func (c *crawl) run(ctx context.Context, s *Source, o Options) error {
	if err := c.readRobots(ctx); err != nil {
		return err
	}
	wanted, err := c.wanted(ctx)
	if err != nil {
		return err
	}
	used := pageNames{}
	for i, w := range wanted {
		o.progress(i, len(wanted))
		e, body, err := c.page(ctx, w)
		if err != nil {
			if err := c.miss(ctx, err); err != nil {
				return err
			}
			continue
		}
		c.failed = 0
		switch name := fileOf(c.start, w.at, e.Kind); {
		case e.Ending == "":
			c.leave(1, "of type "+e.Kind)
		case e.NoIndex:
			c.leave(1, "its X-Robots-Tag header says noindex")
		case e.Ending == ".html" && noIndexMeta(body):
			c.leave(1, "its robots meta tag says noindex")
		case used.take(name):
			if err := put(s.Root, name, body); err != nil {
				return err
			}
		}
	}
	o.progress(len(wanted), len(wanted))
	return c.finished()
}

// page returns one page, either from the journal or from the server.
func (c *crawl) page(ctx context.Context, w located) (entry, []byte, error) {
	c.seen[w.Loc] = true
	e, known := c.known[w.Loc]
	kept, whole := c.body(e)
	if known = known && whole; known && (e.fresh || e.Changed != "" && e.Changed == w.Changed) {
		return e, kept, nil
	}
	header := http.Header{}
	if known && e.ETag != "" {
		header.Set("If-None-Match", e.ETag)
	}
	if known && e.Modified != "" {
		header.Set("If-Modified-Since", e.Modified)
	}
	page, err := c.get(ctx, w.at, maxWebPage, header)
	switch {
	case err != nil:
		return e, nil, err
	case page.unchanged && !known:
		return e, nil, errors.New("the server reported an unchanged page that it never sent")
	case page.unchanged:
		e.Changed = w.Changed
		e, err = c.note(e, nil)
		return e, kept, err
	}
	e, err = c.note(entry{Loc: w.Loc, Changed: w.Changed, Kind: page.kind, Ending: endingOf(w.at, page.kind), ETag: page.etag, Modified: page.modified, NoIndex: page.noIndex}, page.body)
	return e, page.body, err
}

// readRobots reads robots.txt, which may be on another host (RFC 9309, section 2.3.1.2). If
// the server fails to return this file, the site is not visited.
func (c *crawl) readRobots(ctx context.Context) error {
	page, err := c.get(ctx, c.start.ResolveReference(&url.URL{Path: "/robots.txt"}), maxRobots, nil)
	var status *statusError
	var elsewhere *outside
	if errors.As(err, &elsewhere) {
		page, err = c.get(ctx, elsewhere.at, maxRobots, nil)
	}
	switch {
	case err == nil:
		c.robots = parseRobots(page.body)
	case errors.As(err, new(*netguard.Refused)), errors.As(err, &status) && status.code < 500 && status.code != http.StatusTooManyRequests: // there is no robots.txt
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return c.fault("robots.txt: " + err.Error())
	}
	c.pace = max(c.pace, c.robots.delay)
	return nil
}

// located is a page's address in a sitemap.
type located struct {
	Loc     string `xml:"loc"`
	Changed string `xml:"lastmod"`

	at *url.URL
}

// wanted returns the pages in the sitemaps that are on this host, are below the
// address, and may be requested.
func (c *crawl) wanted(ctx context.Context) (wanted []located, err error) {
	all, err := c.sitemaps(ctx)
	if err != nil {
		return nil, err
	}
	below := c.start.EscapedPath()
	below = below[:strings.LastIndexByte(below, '/')+1]
	if isSitemap(c.start) {
		below = "/"
	}
	seen := map[string]bool{}
	for _, l := range all {
		at, err := c.start.Parse(strings.TrimSpace(l.Loc))
		if err != nil || at.Host != c.start.Host || at.Scheme != c.start.Scheme || !strings.HasPrefix(at.EscapedPath()+"/", cmp.Or(below, "/")) {
			continue
		}
		at.Fragment, at.User = "", nil
		switch {
		case seen[at.String()]:
			continue
		case !c.robots.allows(at.RequestURI()):
			c.leave(1, string(errDisallowed))
			continue
		case len(at.String()) > maxAddress:
			c.leave(1, fmt.Sprintf("its address has more than %d bytes", maxAddress))
			continue
		}
		seen[at.String()] = true
		wanted = append(wanted, located{at.String(), strings.TrimSpace(l.Changed), at})
	}
	if len(wanted) == 0 {
		return nil, c.noPages(len(all))
	}
	if more := len(wanted) - maxWebPages; more > 0 {
		c.leave(more, fmt.Sprintf("more than %d", maxWebPages))
		wanted = wanted[:maxWebPages]
	}
	return wanted, nil
}

func (c *crawl) noPages(named int) error {
	why := "it has no sitemap"
	if named > 0 {
		why = "its sitemap lists no pages below this address that robots.txt allows"
	}
	return fault.New("no_docs", fmt.Sprintf("%s has no pages: %s", c.start, why), "pass the address of its sitemap, of an llms.txt, or of the docs' repository")
}

func isSitemap(u *url.URL) bool {
	return strings.HasSuffix(u.Path, ".xml") || strings.HasSuffix(u.Path, ".xml.gz")
}

// sitemaps reads the sitemap that the user gave. If there is none, it reads the
// sitemaps in robots.txt, or else the sitemaps at the usual addresses. It also
// reads all sitemaps that these refer to. It returns an error only if it finds no pages
// and a sitemap cannot be read.
func (c *crawl) sitemaps(ctx context.Context) (all []located, err error) {
	var queue []string
	usual := false
	switch {
	case isSitemap(c.start):
		queue = []string{c.start.String()}
	case len(c.robots.sitemaps) > 0:
		queue = slices.Clone(c.robots.sitemaps)
	default:
		usual = true
		queue = []string{c.start.ResolveReference(&url.URL{Path: path.Join(path.Dir(c.start.Path+"x"), "sitemap.xml")}).String(), c.start.ResolveReference(&url.URL{Path: "/sitemap.xml"}).String()}
	}
	seen := map[string]bool{}
	var unreadable error
	for i := 0; i < len(queue) && len(seen) < maxSitemaps && len(all) < maxAddresses; i++ {
		at, err := c.start.Parse(strings.TrimSpace(queue[i]))
		if err != nil || at.Host != c.start.Host || seen[at.String()] {
			continue
		}
		if usual && len(all) > 0 {
			break
		}
		seen[at.String()] = true
		page, err := c.get(ctx, at, maxSitemap, nil)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			if !usual {
				c.leave(1, "a sitemap could not be downloaded")
			}
			continue
		}
		pages, more, err := parseSitemap(page.body)
		if err != nil {
			unreadable = cmp.Or(unreadable, c.fault(fmt.Sprintf("the sitemap %s cannot be read: %v", at, err)))
			if !usual {
				c.leave(1, "a sitemap cannot be read")
			}
			continue
		}
		all, queue = append(all, pages...), append(queue, more...)
	}
	if len(all) == 0 && unreadable != nil {
		return nil, unreadable
	}
	return all[:min(len(all), maxAddresses)], nil
}

// parseSitemap parses a sitemap, which may be compressed. It returns its pages and
// the sitemaps that it refers to.
func parseSitemap(src []byte) (pages []located, more []string, err error) {
	var r io.Reader = bytes.NewReader(src)
	if bytes.HasPrefix(src, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		r = z
	}
	limited := &io.LimitedReader{R: r, N: maxSitemap + 1}
	d := xml.NewDecoder(limited) // the decoder supports only XML's predefined entities

	// Addresses are ASCII, so all common encodings are read the same.
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		token, err := d.Token()
		switch {
		case limited.N <= 0:
			return nil, nil, fmt.Errorf("it is larger than %d MB", maxSitemap>>20)
		case err == io.EOF:
			return pages, more, nil
		case err != nil:
			return nil, nil, err
		case len(pages) > maxAddresses || len(more) > maxSitemaps:
			return pages, more, nil
		}
		e, is := token.(xml.StartElement)
		if !is || e.Name.Local != "url" && e.Name.Local != "sitemap" {
			continue
		}
		var l located
		if err := d.DecodeElement(&l, &e); err != nil {
			return nil, nil, err
		}
		if e.Name.Local == "url" {
			pages = append(pages, l)
		} else {
			more = append(more, strings.TrimSpace(l.Loc))
		}
	}
}

// metaTag matches a meta element. attribute matches one of its attributes, whose value is
// the second, third or fourth group.
var (
	metaTag   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)<meta\s(?:[^>"']|"[^"]*"|'[^']*')*>`) })
	attribute = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`([A-Za-z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
	})
)

// noIndexMeta reports whether a meta element of a page asks all robots, or this one, not to
// index it.
func noIndexMeta(body []byte) bool {
	for _, tag := range metaTag().FindAllString(string(body[:min(len(body), 32<<10)]), -1) {
		values := map[string]string{}
		for _, m := range attribute().FindAllStringSubmatch(tag, -1) {
			values[strings.ToLower(m[1])] = m[2] + m[3] + m[4]
		}
		name := strings.ToLower(strings.TrimSpace(values["name"]))
		if (name == "robots" || name == agent) && saysNoIndex(values["content"]) {
			return true
		}
	}
	return false
}

// saysNoIndex reports whether a list of rules for robots has one that forbids indexing.
func saysNoIndex(rules string) bool {
	for rule := range strings.SplitSeq(rules, ",") {
		switch strings.ToLower(strings.TrimSpace(rule)) {
		case "noindex", "none":
			return true
		}
	}
	return false
}

// noIndexHeader does the same as noIndexMeta for the values of the X-Robots-Tag header. A
// value may begin with the name of the robot that it is for.
func noIndexHeader(values []string) bool {
	return slices.ContainsFunc(values, func(value string) bool {
		first, _, _ := strings.Cut(value, ",")
		name, _, _ := strings.Cut(first, ":")
		switch name = strings.ToLower(strings.TrimSpace(name)); {
		case name == agent:
			value = value[strings.IndexByte(value, ':')+1:]
		case strings.Contains(first, ":") && !slices.Contains(robotsRules, name):
			return false
		}
		return saysNoIndex(value)
	})
}

// robotsRules lists the rules for robots that have a value after a colon.
var robotsRules = []string{"max-snippet", "max-image-preview", "max-video-preview", "unavailable_after"}
