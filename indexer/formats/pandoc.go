package formats

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits on one call of pandoc.
const (
	pandocWait   = 60 * time.Second
	pandocMemory = "512M"
	listWait     = 10 * time.Second
)

// pandocPath returns the path of pandoc, found in PATH, or "" if it is not installed.
func pandocPath() string {
	found, err := exec.LookPath("pandoc")
	if err != nil {
		return ""
	}
	return found
}

// pandoc holds the path of pandoc and the formats that it can read.
type pandoc struct {
	path string // if empty, pandoc is looked up in PATH
	once sync.Once
	// formats lists the input formats. It is nil if pandoc is missing or
	// unusable.
	formats []string
	bounded []string // arguments that limit pandoc's memory
}

// known returns the input formats of pandoc. It runs pandoc only the first time.
func (p *pandoc) known(ctx context.Context) []string {
	p.once.Do(func() {
		if p.path == "" {
			p.path = pandocPath()
		}
		if p.path == "" {
			return
		}
		p.bounded = []string{"+RTS", "-M" + pandocMemory, "-RTS"}
		out, err := p.run(ctx, listWait, nil, "--list-input-formats")
		if err != nil { // this pandoc was built without support for these arguments
			p.bounded = nil
			out, err = p.run(ctx, listWait, nil, "--list-input-formats")
		}
		if err == nil {
			p.formats = strings.Fields(string(out))
		}
	})
	return p.formats
}

// pandocPages converts a file with pandoc. The source lines of the pages are
// unknown.
func pandocPages(ctx context.Context, c *Converter, w *work) error {
	from := w.format.pandoc
	if from == "man" {
		switch manual(w.src) {
		case "":
			return errNotOurs
		case "mdoc":
			from = "mdoc"
		}
	}
	formats := c.pandoc.known(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case formats == nil:
		return leave{endingOf(w.Path), "install pandoc"}
	case !slices.Contains(formats, from):
		return leave{endingOf(w.Path), "the installed pandoc does not support " + from}
	}
	args := []string{"--sandbox", "--from=" + from, "--to=gfm-raw_html", "--wrap=none", "--markdown-headings=atx"}
	if slices.Contains(titledApart, from) {
		args = append(args, "--standalone")
	}
	out, err := c.pandoc.run(ctx, pandocWait, w.src, args...)
	if err != nil {
		return err
	}
	title, body := "", string(out)
	if slices.Contains(args, "--standalone") {
		title, body = withoutFront(body)
	}
	markdown := strings.TrimSpace(withoutDivs(body))
	if markdown == "" {
		return nil
	}
	if title != "" || !hasTitle(markdown) || from == "man" || from == "mdoc" {
		markdown = "# " + escapePlain(cmp.Or(title, stem(w.Path))) + "\n\n" + markdown
	}
	return c.write(w, "", markdown+"\n", nil)
}

// titledApart lists the formats of pandoc in which a document's title is not a heading.
// pandoc writes it only into the front matter of a standalone document.
var titledApart = []string{"asciidoc", "docx", "latex", "org"}

// withoutFront returns the title in the front matter of markdown, and the text below. The
// other fields are not settings for deskhand.
func withoutFront(markdown string) (title, body string) {
	front, ok := strings.CutPrefix(markdown, "---\n")
	front, body, end := strings.Cut(front, "\n---\n")
	if !ok || !end {
		return "", markdown
	}
	root, err := parseTree([]byte(front))
	if err != nil {
		return "", body
	}
	return oneLine(text(get(root, "title"))), body
}

// manual returns the macro package of a manual page, which is "man" or "mdoc". It
// returns "" if src is not a manual page.
func manual(src []byte) string {
	for line := range bytes.Lines(src[:min(len(src), 64<<10)]) {
		switch {
		case bytes.HasPrefix(line, []byte(".TH ")):
			return "man"
		case bytes.HasPrefix(line, []byte(".Dd ")), bytes.HasPrefix(line, []byte(".Dt ")):
			return "mdoc"
		}
	}
	return ""
}

// run runs pandoc with a timeout and without the user's environment. pandoc can read
// only stdin, because --sandbox blocks its access to files and the network.
func (p *pandoc) run(ctx context.Context, wait time.Duration, stdin []byte, args ...string) ([]byte, error) {
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	cmd := exec.CommandContext(bounded, p.path, append(args, p.bounded...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "HOME=/nonexistent", "XDG_DATA_HOME=/nonexistent"}
	cmd.Dir, cmd.WaitDelay = "/", time.Second
	cmd.Stdin = bytes.NewReader(stdin)
	out, said := &most{limit: maxFileText}, &most{limit: 4 << 10, drop: true}
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil:
		return nil, fmt.Errorf("pandoc took longer than %s", wait)
	case out.full:
		return nil, fmt.Errorf("pandoc wrote more than %d MB", maxFileText>>20)
	case err != nil && strings.Contains(said.b.String(), "heap"):
		return nil, errors.New("pandoc used more than " + pandocMemory + " of memory")
	case err != nil:
		return nil, errors.New("pandoc failed: " + cut(oneLine(said.b.String()), 200) + " (" + err.Error() + ")")
	}
	return out.b.Bytes(), nil
}

// most keeps the first limit bytes that are written to it. If drop is true, it
// silently drops further bytes. Otherwise, further writes fail.
type most struct {
	b          bytes.Buffer // not embedded, because the method ReadFrom has no limit
	limit      int
	drop, full bool
}

func (m *most) Write(p []byte) (int, error) {
	if m.b.Len()+len(p) > m.limit {
		if m.full = true; m.drop {
			return len(p), nil
		}
		return 0, errors.New("too much")
	}
	return m.b.Write(p)
}

var divs = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*</?div[^>]*>\s*$`) })

// withoutDivs removes the tags that pandoc writes around notes and similar blocks, and
// the empty lines that remain.
func withoutDivs(markdown string) string {
	var out []string
	fenced := ""
	for line := range strings.SplitSeq(markdown, "\n") {
		trimmed := strings.TrimLeft(line, " >")
		switch {
		case fenced != "":
			if strings.HasPrefix(trimmed, fenced) {
				fenced = ""
			}
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fenced = trimmed[:3]
		case divs().MatchString(line), strings.TrimSpace(line) == "" && len(out) > 0 && out[len(out)-1] == "":
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
