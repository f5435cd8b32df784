package mail

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface/mail/mailtest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// to returns the options for a server.
func to(s *mailtest.Server, security Security) Options {
	return Options{Server: Server{s.Host, s.Port, security}, From: mail.Address{Name: "deskhand", Address: "desk@example.org"}, User: mailtest.User, Password: mailtest.Password, TLS: s.Trusting()}
}

func letter() Mail {
	return Mail{To: mail.Address{Address: "ada@example.org"}, Subject: "Deploy?", Text: "Deploy?\r\n.\r\nend\r\n", HTML: "<p>Deploy?</p>", ID: "elc_1.abc", Date: time.Now()}
}

// parts parses a mail strictly.
func parts(t *testing.T, data string) (h mail.Header, text, html string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("%s, %v", kind, err)
	}
	r := multipart.NewReader(m.Body, params["boundary"])
	var bodies []string
	for _, want := range []string{"text/plain; charset=utf-8", "text/html; charset=utf-8"} {
		p, err := r.NextRawPart()
		if err != nil || p.Header.Get("Content-Type") != want {
			t.Fatalf("part %v, %v; want %s", p, err, want)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, string(body))
	}
	if _, err := r.NextRawPart(); err != io.EOF {
		t.Fatalf("a third part: %v", err)
	}
	return m.Header, bodies[0], bodies[1]
}

func TestAMailIsSentOverTLS(t *testing.T) {
	for name, c := range map[string]struct {
		o        mailtest.Options
		security Security
	}{
		"STARTTLS, PLAIN": {mailtest.Options{}, StartTLS}, "STARTTLS, LOGIN": {mailtest.Options{Auth: "LOGIN"}, StartTLS}, "TLS": {mailtest.Options{Implicit: true, Auth: "LOGIN PLAIN"}, Implicit},
	} {
		t.Run(name, func(t *testing.T) {
			s := mailtest.New(t, c.o)
			o := to(s, c.security)
			if err := o.Check(t.Context()); err != nil {
				t.Fatalf("Check: %v", err)
			}
			if err := o.Send(t.Context(), letter()); err != nil {
				t.Fatal(err)
			}
			got := s.Got()
			if len(got) != 1 || !got[0].Secure || got[0].User != mailtest.User || got[0].From != "desk@example.org" || got[0].To != "ada@example.org" {
				t.Fatalf("the server got %+v", got)
			}
			h, text, html := parts(t, got[0].Data)
			if h.Get("Message-ID") != "<elc_1.abc@example.org>" || h.Get("Auto-Submitted") != "auto-generated" || h.Get("Subject") != "Deploy?" || text != "Deploy?\r\n.\r\nend\r\n" || html != "<p>Deploy?</p>" {
				t.Errorf("mail %v %q %q", h, text, html)
			}
		})
	}
}

// The mail, the name and the password stay here if the connection is not what it must be.
func TestNothingIsSentToTheWrongServer(t *testing.T) {
	for name, c := range map[string]struct {
		o      mailtest.Options
		change func(*Options)
	}{
		"no STARTTLS":          {mailtest.Options{NoTLS: true}, nil},
		"unknown authority":    {mailtest.Options{}, func(o *Options) { o.TLS = nil }},
		"another name":         {mailtest.Options{Names: []string{"mail.example.org"}}, nil},
		"TLS, another name":    {mailtest.Options{Names: []string{"mail.example.org"}, Implicit: true}, func(o *Options) { o.Server.Security = Implicit }},
		"no TLS after all":     {mailtest.Options{Answer: answers("STARTTLS", "250 fine")}, nil},
		"neither PLAIN nor ..": {mailtest.Options{Auth: "CRAM-MD5"}, nil},
		"sign-in without TLS":  {mailtest.Options{NoTLS: true}, func(o *Options) { o.Server.Security = Plain }},
	} {
		t.Run(name, func(t *testing.T) {
			s := mailtest.New(t, c.o)
			o := to(s, StartTLS)
			if c.change != nil {
				c.change(&o)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			err := o.Send(ctx, letter())
			if err == nil || len(s.Got()) > 0 {
				t.Errorf("Send = %v; the server got %+v", err, s.Got())
			}
			for _, line := range s.Commands() {
				if !strings.HasPrefix(line, "EHLO localhost") && line != "STARTTLS" && line != "QUIT" {
					t.Errorf("the server was told %q", line)
				}
			}
		})
	}
}

func answers(command, answer string) func(string, string) string {
	return func(given, _ string) string {
		if given == command {
			return answer
		}
		return ""
	}
}

func TestRefusalsAreFinalAndTheRestIsNot(t *testing.T) {
	for name, c := range map[string]struct {
		command, answer string
		final           bool
	}{
		"no such user":      {"RCPT", "550 5.1.1 no such user", true},
		"not accepted":      {"data", "554 spam", true},
		"wrong password":    {"AUTH", "535 5.7.8 wrong " + mailtest.Password, true},
		"greylisted":        {"RCPT", "450 try later", false},
		"full":              {"data", "452 no space", false},
		"too many":          {"greeting", "421 too many", false},
		"ends in the data":  {"data", "end", false},
		"nonsense":          {"MAIL", "hello", false},
		"a success that is": {"RCPT", "199 what", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := mailtest.New(t, mailtest.Options{Answer: answers(c.command, c.answer)})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err := to(s, StartTLS).Send(ctx, letter())
			f := new(outbox.Failure)
			if err == nil || (errors.As(err, &f) && f.Final) != c.final {
				t.Errorf("Send = %v, want final %v", err, c.final)
			}
			if err != nil && (strings.Contains(err.Error(), mailtest.Password) || strings.Contains(err.Error(), "ada@")) {
				t.Errorf("the error has a secret: %v", err)
			}
		})
	}
}

// A server that hangs, at any line, or never stops talking costs only the time of its try.
func TestAServerThatHangsOrFloods(t *testing.T) {
	flood := "250-" + strings.Repeat("x", 1000)
	flood = strings.Repeat(flood+"\r\n", 3000) + "250 end"
	for _, command := range []string{"greeting", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA", "data"} {
		t.Run(command, func(t *testing.T) {
			s := mailtest.New(t, mailtest.Options{Answer: answers(command, "hang")})
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			begun := time.Now()
			err := to(s, StartTLS).Send(ctx, letter())
			if f := new(outbox.Failure); err == nil || errors.As(err, &f) && f.Final || time.Since(begun) > waittest.Soon {
				t.Errorf("Send = %v after %v", err, time.Since(begun))
			}
		})
	}
	s := mailtest.New(t, mailtest.Options{Answer: answers("EHLO", flood)})
	if err := to(s, StartTLS).Send(t.Context(), letter()); err == nil || !strings.Contains(err.Error(), "too much") {
		t.Errorf("a flood: %v", err)
	}
	s.Set(nil)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := to(s, StartTLS).Send(stopped, letter()); err == nil {
		t.Error("a try that was cancelled succeeded")
	}
}

// An agent's text is text: no header, no markup, no remote content.
func TestAttackTextsOfAMailAreInert(t *testing.T) {
	evil := "Deploy?\r\nBcc: eve@example.org\r\n\r\n<script src=http://evil/></script><img src=\"http://evil/x.png\">\u202e\x00 " + strings.Repeat("ü🙂", 300)
	r := &elicit.Request{ID: "elc_1", Title: evil, Message: evil, Source: elicit.Source{Name: evil}, Context: elicit.Context{Project: evil}, Status: elicit.Open, Questions: []elicit.Question{
		{ID: "q", Kind: elicit.SingleSelect, Message: evil, Options: []elicit.Option{{ID: "a", Label: evil, Description: evil}}}}, Proposal: &elicit.Proposal{Text: evil, Marks: []string{evil}}}
	m, err := Question(r, Letter{To: mail.Address{Address: "ada@example.org"}, Person: "ada", Reason: "Reminder" + evil, Page: "https://desk/inbox/elc_1", Choices: []Choice{{evil, "https://desk/mail/dhl_x"}}, Until: time.Now(), Date: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	s := mailtest.New(t, mailtest.Options{})
	if err := to(s, StartTLS).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	h, text, html := parts(t, s.Got()[0].Data)
	if len(h["Bcc"]) > 0 || len(h) != 11 || h.Get("In-Reply-To") == "" || h.Get("In-Reply-To") == h.Get("Message-ID") {
		t.Errorf("headers %v", h)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
	if err != nil || strings.ContainsAny(subject, "\r\n\u202e") || len([]rune(subject)) > maxSubject {
		t.Errorf("subject %q, %v", subject, err)
	}
	for _, bad := range []string{"<script", "<img", "\u202e", "\x00"} {
		if strings.Contains(html, bad) || strings.Contains(text, bad) && bad[0] != '<' {
			t.Errorf("the mail has %q", bad)
		}
	}
	for _, want := range []string{"https://desk/mail/dhl_x", "https://desk/inbox/elc_1"} {
		if !strings.Contains(html, `href="`+want+`"`) || !strings.Contains(text, want) {
			t.Errorf("the mail lacks %s", want)
		}
	}
	for _, address := range []string{"ada@example.org\r\nRCPT TO:<eve@example.org>", "a b@example.org", "ädä@example.org", "", "ada"} {
		m := letter()
		m.To.Address = address
		if err := to(s, StartTLS).Send(t.Context(), m); err == nil {
			t.Errorf("a mail to %q was sent", address)
		}
	}
	if got := s.Got(); len(got) != 1 {
		t.Errorf("%d mails, want 1", len(got))
	}
}

func TestASecretIsNotPutIntoAMail(t *testing.T) {
	r := &elicit.Request{ID: "elc_1", Title: "The frobnicator", Status: elicit.Open, Questions: []elicit.Question{{ID: "q", Kind: elicit.Text, Message: "Enter your password for the frobnicator"}}}
	for _, make := range []func(*elicit.Request, Letter) (Mail, error){Question, Ended} {
		m, err := make(r, Letter{To: mail.Address{Address: "ada@example.org"}, Person: "ada", Reason: "asked", First: true, Page: "https://desk/inbox/elc_1", Choices: []Choice{{"Yes", "https://desk/mail/x"}}})
		if err != nil {
			t.Fatal(err)
		}
		if all := m.Subject + m.Text + m.HTML; strings.Contains(all, "frobnicator") || strings.Contains(all, "/mail/x") || !strings.Contains(all, "https://desk/inbox/elc_1") {
			t.Errorf("the mail says %q %q", m.Subject, m.Text)
		}
	}
}

// A process that is killed after the server has taken the mail, and before it could record
// that, leaves the mail to another one, which sends it with the same Message-ID.
func TestAMailOfAKilledProcessIsSentAgainWithItsMessageID(t *testing.T) {
	place := t.TempDir()
	db, err := store.Open(t.Context(), place, outbox.Schema())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	box := outbox.In(db)
	if _, err := box.Put(t.Context(), outbox.New{Once: "q", Way: Way, To: "ada"}); err != nil {
		t.Fatal(err)
	}
	s := mailtest.New(t, mailtest.Options{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	authority := t.TempDir() + "/ca.pem"
	if err := os.WriteFile(authority, s.Authority, 0o600); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self, "-test.run=^TestChildSends$")
	child.Env = append(os.Environ(), "MAIL_CHILD="+place, "MAIL_PORT="+s.Port, "SSL_CERT_FILE="+authority)
	arrived := make(chan struct{})
	s.Set(func(command, _ string) string { // all has arrived; the answer never comes
		if command != "data" {
			return ""
		}
		close(arrived)
		return "hang"
	})
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	<-arrived
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil || len(s.Got()) != 1 {
		t.Fatalf("the child ended with %v; the server got %d mails", err, len(s.Got()))
	}
	s.Set(nil)
	ahead := 3 * time.Minute // the claim of the dead process is over
	other, err := store.Open(t.Context(), place, outbox.Schema())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetClock(func() time.Time { return time.Now().Add(ahead) })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		outbox.In(other).Run(ctx, outbox.Options{Ways: []outbox.Way{{Name: Way, Send: sending(to(s, StartTLS))}}})
	}()
	defer func() { cancel(); <-done }()
	waittest.Until(t, "it is sent", func() (bool, any) {
		counts, err := box.Counts(t.Context())
		return err == nil && counts[Way][outbox.Sent] == 1, counts
	})
	got := s.Got()
	if len(got) != 2 {
		t.Fatalf("%d mails, want 2", len(got))
	}
	first, _, _ := parts(t, got[0].Data)
	second, _, _ := parts(t, got[1].Data)
	if first.Get("Message-ID") != second.Get("Message-ID") {
		t.Errorf("the mails have the IDs %s and %s", first.Get("Message-ID"), second.Get("Message-ID"))
	}
}

func sending(o Options) func(context.Context, outbox.Message) (string, error) {
	return func(ctx context.Context, m outbox.Message) (string, error) {
		one := letter()
		one.ID = m.ID
		return "", o.Send(ctx, one)
	}
}

// TestChildSends is the process that is killed.
func TestChildSends(t *testing.T) {
	place := os.Getenv("MAIL_CHILD")
	if place == "" {
		return
	}
	db, err := store.Open(t.Context(), place, outbox.Schema())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Server: Server{"127.0.0.1", os.Getenv("MAIL_PORT"), StartTLS}, From: mail.Address{Address: "desk@example.org"}, User: mailtest.User, Password: mailtest.Password}
	outbox.In(db).Run(t.Context(), outbox.Options{Ways: []outbox.Way{{Name: Way, Send: sending(o)}}})
}

func TestServersAreParsed(t *testing.T) {
	for text, want := range map[string]Server{
		"smtp://mail.example.org": {"mail.example.org", "587", StartTLS}, "smtp://mail.example.org:2525": {"mail.example.org", "2525", StartTLS},
		"smtps://mail.example.org": {"mail.example.org", "465", Implicit}, "smtp-plain://localhost": {"localhost", "25", Plain},
	} {
		if got, err := ParseServer(text); err != nil || got != want {
			t.Errorf("ParseServer(%s) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "mail.example.org", "https://x", "smtp://", "smtp://user:secret@host", "smtp://host/path", "smtp://host?x=y"} {
		if got, err := ParseServer(text); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("ParseServer(%q) = %+v, %v", text, got, err)
		}
	}
}
