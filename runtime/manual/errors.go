package manual

import (
	"regexp"
	"strings"
	"sync"
)

// minLiteral is the minimum number of letters and digits, outside placeholders, that a
// heading must have to match an error.
const minLiteral = 10

type errorHeading struct {
	pattern *regexp.Regexp
	topic   string
	literal int // letters and digits outside placeholders
}

// placeholder matches a placeholder in a heading: DIR, x, 20310, "...".
var placeholder = regexp.MustCompile(`'[^']*'|"[^"]*"|\b[A-Z]+\b|\b[xyq]\b|\.\.\.|\b\d+\b`)

var errorHeadings = sync.OnceValue(func() (all []errorHeading) {
	for _, p := range Pages() {
		if p.Group != "troubleshooting" {
			continue
		}
		for _, s := range p.Sections {
			for _, text := range strings.Split(s.Heading, " and ") { // some headings name two errors
				var b strings.Builder
				rest, literal := strings.TrimSpace(text), 0
				for i, part := range placeholder.Split(rest, -1) {
					if i > 0 {
						b.WriteString(".*")
					}
					b.WriteString(regexp.QuoteMeta(part))
					literal += len(letters(part))
				}
				if pattern, err := regexp.Compile(b.String()); err == nil && literal >= minLiteral {
					all = append(all, errorHeading{pattern, p.Name + "#" + s.Anchor, literal})
				}
			}
		}
	}
	return all
})

// About returns the topic that explains an error, found by the fault's code or by its
// message. It returns "" if the manual has none.
func About(code, message string) (topic string) {
	if code != "" {
		for _, p := range Pages() {
			if p.Group != "troubleshooting" {
				continue
			}
			if s, ok := p.SectionOf(code); ok {
				return p.Name + "#" + s.Anchor
			}
		}
	}
	most := 0
	for _, h := range errorHeadings() {
		if h.literal > most && h.pattern.MatchString(message) {
			most, topic = h.literal, h.topic
		}
	}
	return topic
}
