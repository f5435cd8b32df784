package source

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
)

// isLLMs reports whether an address is an llms.txt or llms-full.txt file.
func isLLMs(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return false
	}
	name := path.Base(u.Path)
	return name == "llms.txt" || name == "llms-full.txt"
}

// maxLLMs is the maximum size of an llms.txt or llms-full.txt. A single
// llms-full.txt may contain all docs of a product.
const maxLLMs = 64 << 20

// openLLMs downloads an llms.txt with the pages that it links to, or an
// llms-full.txt, which already contains the pages.
func openLLMs(ctx context.Context, address string, o Options) (_ *Source, err error) {
	start, err := webAddress(address)
	if err != nil {
		return nil, err
	}
	s, err := onWeb(start, start.String(), o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	v := newVisitor(start, o)
	first, err := v.get(ctx, start, maxLLMs, nil)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, v.fault(err.Error())
	}
	if first.kind == "text/html" {
		return nil, v.fault("it is an HTML page")
	}
	if path.Base(start.Path) == "llms-full.txt" {
		pages, more := sections(string(first.body), maxWebPages)
		for name, text := range pages {
			if err := put(s.Root, name, []byte(text)); err != nil {
				return nil, err
			}
		}
		if more > 0 {
			v.leave(more, fmt.Sprintf("more than %d", maxWebPages))
		}
		s.LeftOut = v.left.list()
		return s, nil
	}
	if err := put(s.Root, "llms.md", first.body); err != nil {
		return nil, err
	}
	if err := v.named(ctx, s, first, o); err != nil {
		return nil, err
	}
	s.LeftOut = v.left.list()
	return s, nil
}

// named downloads the pages that the llms.txt in first links to.
func (v *visitor) named(ctx context.Context, s *Source, first webPage, o Options) error {
	links, more := linksIn(string(first.body), first.at, maxWebPages)
	if more > 0 {
		v.leave(more, fmt.Sprintf("more than %d", maxWebPages))
	}
	used := pageNames{"llms.md": false}
	for i, at := range links {
		o.progress(i, len(links))
		if at.Scheme != "https" && at.Host != v.start.Host {
			v.leave(1, "not https")
			continue
		}
		page, err := v.get(ctx, at, maxWebPage, nil)
		if err != nil {
			if err := v.miss(ctx, err); err != nil {
				return err
			}
			continue
		}
		v.failed = 0
		name := fileOf(v.start, at, page.kind)
		switch {
		case endingOf(at, page.kind) == "":
			v.leave(1, "of type "+page.kind)
		case used.take(name):
			if err := put(s.Root, name, page.body); err != nil {
				return err
			}
		}
	}
	o.progress(len(links), len(links))
	return nil
}

// link matches the end of a Markdown link [TEXT](ADDRESS) and captures the address.
var link = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\]\(\s*<?([^\s<>()]+(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+"[^"]*")?\s*\)`)
})

// linksIn returns the first pages that text links to, at most most, in order and without
// duplicates, and the number of further links.
func linksIn(text string, at *url.URL, most int) (links []*url.URL, more int) {
	seen := map[string]bool{at.String(): true}
	for {
		m := link().FindStringSubmatchIndex(text)
		if m == nil {
			return links, more
		}
		address := text[m[2]:m[3]]
		text = text[m[1]:]
		if len(links) == most {
			if !seen[address] {
				more++
			}
			continue
		}
		u, err := at.Parse(address)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			continue
		}
		u.Fragment, u.User = "", nil
		if !seen[u.String()] {
			seen[u.String()] = true
			links = append(links, u)
		}
	}
}

// sections splits text into pages at its level-1 headings. It returns the first pages, at
// most most, by file name, and the number of further pages.
func sections(text string, most int) (pages map[string]string, more int) {
	pages = map[string]string{}
	next := map[string]int{} // by name, the number to try next
	var b strings.Builder
	title, fenced := "", ""
	flush := func() {
		if strings.TrimSpace(b.String()) != "" && len(pages) == most {
			more++
		} else if strings.TrimSpace(b.String()) != "" {
			base := strings.Trim(notInName().ReplaceAllString(strings.ToLower(title), "-"), ".-")
			base = strings.ToValidUTF8(base[:min(len(base), 80)], "")
			if base == "" {
				base = "page"
			}
			name := base + ".md"
			for n := max(2, next[base]); pages[name] != ""; n++ {
				name, next[base] = fmt.Sprintf("%s-%d.md", base, n), n+1
			}
			pages[name] = b.String()
		}
		b.Reset()
	}
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case fenced != "":
			if strings.HasPrefix(trimmed, fenced) {
				fenced = ""
			}
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fenced = trimmed[:3]
		case strings.HasPrefix(line, "# "):
			flush()
			title = strings.TrimSpace(line[2:])
		}
		b.WriteString(line)
	}
	flush()
	return pages, more
}
