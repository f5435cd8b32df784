package mail

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"regexp"
	"strings"
	"sync"
	"time"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Mail is one mail to one person.
type Mail struct {
	To      mail.Address
	Subject string
	// Text and HTML are the same message.
	Text, HTML string
	// ID and Thread are the left parts of the mail's Message-ID and of the one it answers.
	// Thread may be empty. A mail that is sent again has the same ID.
	ID, Thread string
	Date       time.Time
}

// maxSubject is in characters.
const maxSubject = 150

// part is what may be the left part of a Message-ID.
var part = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`) })

// bytes returns the mail as it is sent. No text of an agent becomes a header: the subject is
// one line without control characters, and all else is deskhand's own or was checked.
func (m Mail) bytes(from mail.Address) ([]byte, error) {
	domain := from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	if !part().MatchString(m.ID) || m.Thread != "" && !part().MatchString(m.Thread) || domain == "" {
		return nil, errors.New("create mail: invalid Message-ID")
	}
	for _, a := range []mail.Address{from, m.To} {
		if _, err := ParseAddress(a.Address); err != nil {
			return nil, fmt.Errorf("create mail: %w", err)
		}
	}
	subject := textutil.Shorten(textutil.OneLine(textutil.Plain(m.Subject)), maxSubject)
	var out bytes.Buffer
	header := func(name, value string) { fmt.Fprintf(&out, "%s: %s\r\n", name, value) }
	header("From", from.String())
	header("To", m.To.String())
	// A long line of encoded words is folded between words.
	header("Subject", strings.ReplaceAll(mime.QEncoding.Encode("utf-8", subject), "?= =?", "?=\r\n =?"))
	header("Date", m.Date.Format(time.RFC1123Z))
	header("Message-ID", "<"+m.ID+"@"+domain+">")
	if m.Thread != "" {
		header("In-Reply-To", "<"+m.Thread+"@"+domain+">")
		header("References", "<"+m.Thread+"@"+domain+">")
	}
	header("Auto-Submitted", "auto-generated") // RFC 3834: no program answers this mail
	header("X-Auto-Response-Suppress", "All")  // the same for Exchange
	header("MIME-Version", "1.0")
	w := multipart.NewWriter(&out)
	header("Content-Type", `multipart/alternative; boundary="`+w.Boundary()+`"`)
	out.WriteString("\r\n")
	for _, p := range []struct{ kind, text string }{{"text/plain", m.Text}, {"text/html", m.HTML}} {
		one, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {p.kind + "; charset=utf-8"}, "Content-Transfer-Encoding": {"quoted-printable"}})
		if err != nil {
			return nil, fmt.Errorf("create mail: %w", err)
		}
		q := quotedprintable.NewWriter(one)
		if _, err = q.Write([]byte(p.text)); err == nil {
			err = q.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("create mail: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("create mail: %w", err)
	}
	return out.Bytes(), nil
}
