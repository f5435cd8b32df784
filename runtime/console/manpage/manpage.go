// Package manpage formats the man(1) pages of commands.
package manpage

import (
	"fmt"
	"strings"
)

// Page describes one command. Empty parts are left out of the page.
type Page struct {
	Name, Short string
	Version     string   // of the program
	Usage       []string // command lines
	Long        string   // paragraphs, separated by empty lines
	// Commands, Options and Global hold a name and its description in each row.
	Commands, Options, Global [][2]string
	Example                   string
	Parent                    string // name of the parent command's page
}

// String returns the page in man(7) format. The page has no date, so that its bytes are
// reproducible.
func (p Page) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"\" \"deskhand %s\" \"deskhand manual\"\n", strings.ToUpper(p.Name), Escape(p.Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", Escape(p.Name), Escape(p.Short))
	for i, line := range p.Usage {
		if i > 0 {
			b.WriteString(".br\n")
		}
		fmt.Fprintf(&b, ".B %s\n", Escape(line))
	}
	b.WriteString(".SH DESCRIPTION\n")
	for _, paragraph := range strings.Split(p.Long, "\n\n") {
		fmt.Fprintf(&b, ".PP\n%s\n", Escape(paragraph))
	}
	writeRows(&b, "COMMANDS", p.Commands)
	writeRows(&b, "OPTIONS", p.Options)
	writeRows(&b, "GLOBAL OPTIONS", p.Global)
	if p.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", Escape(p.Example))
	}
	if p.Parent != "" {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", Escape(p.Parent))
	}
	return b.String()
}

func writeRows(b *strings.Builder, title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	for _, row := range rows {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", Escape(strings.TrimSpace(row[0])), Escape(row[1]))
	}
}

// Escape escapes text so that no line is a roff request and hyphens can be copied from the
// page.
func Escape(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
