package mail

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/mail"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

//go:embed templates/mail.html
var templates embed.FS

var page = template.Must(template.ParseFS(templates, "templates/mail.html"))

// Choice is a button of a mail.
type Choice struct{ Label, URL string }

// Letter is what a mail about a question needs besides the question.
type Letter struct {
	To     mail.Address
	Person string
	Reason string // why the mail is sent; see [elicit] surfaces: "asked", "reminder" and others
	First  bool   // it is the first mail about the question to this person
	// Page is the question's page.
	Page    string
	Choices []Choice
	Until   time.Time // when the choices' links end
	Date    time.Time
}

// Limits of a mail's texts, in characters. A permission request that is longer is not shown
// in full, so its mail has no buttons.
const (
	maxText     = 4000
	maxProposal = 8000
	maxLabel    = 200
)

// Fits reports whether a mail shows all that a person must see before allowing what the
// request proposes.
func Fits(r *elicit.Request) bool {
	return r.Proposal == nil || len(r.Proposal.Text) <= maxProposal && textutil.Plain(r.Proposal.Text) == r.Proposal.Text
}

// body is what the template and the text are made of.
type body struct {
	Heading, Asked, Note string
	Proposal, Warning    string
	Lines                []string
	Choices              []Choice
	Page, PageLabel      string
	Footer               []string
}

// Question returns the mail about an open question. The text of a question that asks for a
// secret is not in it.
func Question(r *elicit.Request, l Letter) (Mail, error) {
	b := body{Heading: heading(r), Asked: asked(r), Page: l.Page, PageLabel: "Open the question"}
	for _, c := range l.Choices {
		b.Choices = append(b.Choices, Choice{textutil.Shorten(textutil.OneLine(textutil.Plain(c.Label)), maxLabel), c.URL})
	}
	if l.Reason != "asked" {
		b.Note = textutil.OneLine(textutil.Plain(l.Reason))
	}
	if r.WantsSecret() {
		b.Heading, b.Choices = "A question asks for a secret", nil
		b.Note = "Its text is not sent by mail. Open it to read and answer it."
	} else {
		b.add(r)
	}
	if len(b.Choices) > 0 {
		b.Footer = append(b.Footer, "A button opens a page, on which you confirm the answer. Each works once, only for you, until "+l.Until.UTC().Format("2006-01-02 15:04 UTC")+". Do not forward this mail.")
	}
	b.Footer = append(b.Footer, "Replies to this mail are not read.")
	return b.mail(r, l)
}

// Ended returns the mail that says how a question ended.
func Ended(r *elicit.Request, l Letter) (Mail, error) {
	how := "deleted"
	if r.Completion != nil {
		how = textutil.OneLine(textutil.Plain(r.Completion.Words()))
	}
	b := body{Heading: heading(r), Note: strings.ToUpper(how[:1]) + how[1:], Asked: asked(r), Page: l.Page, PageLabel: "Open the question"}
	if r.WantsSecret() {
		b.Heading = "A question asked for a secret"
	}
	return b.mail(r, l)
}

func heading(r *elicit.Request) string {
	text, _, _ := strings.Cut(strings.TrimSpace(textutil.Plain(r.Heading())), "\n")
	return text
}

func asked(r *elicit.Request) string {
	text := "asked by " + textutil.OneLine(textutil.Plain(r.Source.Name))
	if r.Source.Name == "" {
		text = "asked by someone"
	}
	if place := r.Place(); place != "" {
		text += ", " + textutil.OneLine(textutil.Plain(place))
	}
	if !r.Deadline.IsZero() {
		text += ", until " + r.Deadline.UTC().Format("2006-01-02 15:04 UTC")
	}
	return text
}

func (b *body) add(r *elicit.Request) {
	line := func(text string) {
		if text = strings.TrimSpace(textutil.Shorten(textutil.Plain(text), maxText)); text != "" {
			b.Lines = append(b.Lines, text)
		}
	}
	if p := r.Proposal; p != nil {
		b.Proposal, b.Warning = textutil.Shorten(textutil.Plain(p.Text), maxProposal), textutil.Plain(p.Warning())
	}
	if r.Message != r.Heading() {
		line(r.Message)
	}
	for i := range r.Questions {
		q := &r.Questions[i]
		if len(r.Questions) == 1 {
			line(q.Beside(r.Heading()))
		} else {
			line(fmt.Sprintf("%d. %s (%s)", i+1, q.Asks(), q.Wants()))
		}
		for j := range q.Options {
			line("- " + q.Options[j].Says())
		}
	}
}

func (b *body) mail(r *elicit.Request, l Letter) (Mail, error) {
	subject := b.Heading
	if b.Note != "" && !r.WantsSecret() {
		subject = b.Note + ": " + subject
	}
	m := Mail{To: l.To, Subject: subject, Text: b.text(), Date: l.Date}
	m.ID = thread(r.ID, l.Person)
	if !l.First {
		m.Thread = m.ID
		sum := sha256.Sum256([]byte(l.Reason))
		m.ID += "." + hex.EncodeToString(sum[:6])
	}
	var html strings.Builder
	if err := page.Execute(&html, b); err != nil {
		return Mail{}, fmt.Errorf("create mail: %w", err)
	}
	m.HTML = html.String()
	return m, nil
}

// thread returns the left part of the Message-ID of a question's first mail to a person. It
// does not contain the person's name, because a name may have other characters.
func thread(request, person string) string {
	sum := sha256.Sum256([]byte(person))
	return request + "." + hex.EncodeToString(sum[:6])
}

func (b *body) text() string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	add(b.Note)
	add(b.Heading)
	add(b.Warning)
	add(b.Proposal)
	add(strings.Join(b.Lines, "\n\n"))
	add(b.Asked)
	var links []string
	for _, c := range b.Choices {
		links = append(links, c.Label+":\n"+c.URL)
	}
	add(strings.Join(links, "\n\n"))
	if b.Page != "" {
		add(b.PageLabel + ":\n" + b.Page)
	}
	if len(b.Footer) > 0 {
		add("-- \n" + strings.Join(b.Footer, "\n"))
	}
	return strings.ReplaceAll(strings.Join(parts, "\n\n"), "\n", "\r\n") + "\r\n"
}
