// Package mail sends questions by e-mail.
//
// It submits mails to one server over SMTP, with STARTTLS or TLS from the beginning, and
// signs in only over TLS. It uses the standard library's net/smtp: that speaks all that
// submission needs, and leaves the headers, which are small in number, to this package.
package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/smtp"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/netguard"
	"github.com/deskhand/deskhand/runtime/outbox"
)

// Way is the way's name in the outbox, and Channel names mails in the record of an answer.
const (
	Way     = "mail"
	Channel = "mail link"
)

// Security is how a connection is encrypted.
type Security int

// Values of [Server.Security].
const (
	StartTLS Security = iota // plain text first, TLS before anything else
	Implicit                 // TLS from the beginning
	Plain                    // no TLS, and no sign-in
)

// Server is the address of a mail server.
type Server struct {
	Host, Port string
	Security   Security
}

// ParseServer reads smtp://HOST[:587], smtps://HOST[:465] or smtp-plain://HOST[:25].
func ParseServer(text string) (s Server, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return s, errors.New("it is not an address")
	}
	usual := ""
	switch u.Scheme {
	case "smtp":
		usual = "587"
	case "smtps":
		s.Security, usual = Implicit, "465"
	case "smtp-plain":
		s.Security, usual = Plain, "25"
	default:
		return s, errors.New("it does not begin with smtp://, smtps:// or smtp-plain://")
	}
	if s.Host, s.Port = u.Hostname(), u.Port(); s.Port == "" {
		s.Port = usual
	}
	if s.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return s, errors.New("it is not only a host and a port")
	}
	return s, nil
}

// Options configure the mail server. Server and From are required.
type Options struct {
	Server Server
	From   mail.Address
	// User and Password sign in. If User is empty, deskhand does not sign in.
	User, Password string
	// TLS is for tests. If nil, the system's authorities are trusted.
	TLS *tls.Config
}

// ParseAddress reads an e-mail address, with or without a name. Only ASCII addresses are
// accepted, because not every server delivers others.
func ParseAddress(text string) (mail.Address, error) {
	a, err := mail.ParseAddress(text)
	if err != nil || len(a.Address) > 254 || strings.ContainsFunc(a.Address, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`<>"\,;:()[]`, r) }) {
		return mail.Address{}, fmt.Errorf("%.100q is not an e-mail address", text)
	}
	return *a, nil
}

// maxSession is how many bytes a server may send in one session. A session takes about one
// KiB, and some more for certificates.
const maxSession = 1 << 20

// limited is a connection whose peer may send only so much.
type limited struct {
	net.Conn
	left int
}

// Read implements [net.Conn].
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("the server sends too much")
	}
	n, err := l.Conn.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// session connects, encrypts and signs in. It ends with ctx.
func (o Options) session(ctx context.Context) (c *smtp.Client, end func(), err error) {
	dialer := netguard.Guard{Inside: true}.Dialer() // the owner sets the address
	raw, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(o.Server.Host, o.Server.Port))
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	if at, ok := ctx.Deadline(); ok {
		_ = raw.SetDeadline(at) // fails only on a closed connection
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	end = func() { stop(); raw.Close() }
	if c, err = o.begin(ctx, &limited{raw, maxSession}); err != nil {
		end()
		return nil, nil, err
	}
	return c, end, nil
}

func (o Options) begin(ctx context.Context, conn net.Conn) (*smtp.Client, error) {
	config := &tls.Config{}
	if o.TLS != nil {
		config = o.TLS.Clone()
	}
	config.ServerName, config.MinVersion = o.Server.Host, tls.VersionTLS12
	if o.Server.Security == Implicit {
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("encrypt: %w", err)
		}
		conn = secure
	}
	c, err := smtp.NewClient(conn, o.Server.Host)
	if err != nil {
		return nil, fmt.Errorf("read greeting: %w", err)
	}
	if err := c.Hello("localhost"); err != nil { // the machine's name is nobody's business
		return nil, fmt.Errorf("say hello: %w", err)
	}
	if o.Server.Security == StartTLS {
		if offered, _ := c.Extension("STARTTLS"); !offered {
			return nil, errors.New("the server does not offer STARTTLS, so nothing was sent")
		}
		if err := c.StartTLS(config); err != nil {
			return nil, fmt.Errorf("encrypt: %w", err)
		}
	}
	if o.User == "" {
		return c, nil
	}
	return c, o.signIn(c)
}

func (o Options) signIn(c *smtp.Client) error {
	if _, secure := c.TLSConnectionState(); !secure {
		return outbox.Final(errors.New("sign in: the connection is not encrypted"))
	}
	_, offered := c.Extension("AUTH")
	var auth smtp.Auth
	switch methods := " " + strings.ToUpper(offered) + " "; {
	case strings.Contains(methods, " PLAIN "):
		auth = smtp.PlainAuth("", o.User, o.Password, o.Server.Host)
	case strings.Contains(methods, " LOGIN "):
		auth = &login{user: o.User, password: o.Password}
	default:
		return errors.New("sign in: the server offers neither PLAIN nor LOGIN")
	}
	err := c.Auth(auth)
	if answer := new(textproto.Error); errors.As(err, &answer) {
		return fmt.Errorf("sign in: %w", &textproto.Error{Code: answer.Code, Msg: "refused"}) // a server may repeat the password
	}
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	return nil
}

// login is the method LOGIN, which some servers offer alone.
type login struct {
	user, password string
	step           int
}

// Start implements [smtp.Auth].
func (l *login) Start(s *smtp.ServerInfo) (string, []byte, error) {
	if !s.TLS {
		return "", nil, errors.New("the connection is not encrypted")
	}
	return "LOGIN", nil, nil
}

// Next implements [smtp.Auth]. The first question is for the name, whatever it says.
func (l *login) Next(_ []byte, more bool) ([]byte, error) {
	if !more {
		return nil, nil
	}
	l.step++
	switch l.step {
	case 1:
		return []byte(l.user), nil
	case 2:
		return []byte(l.password), nil
	}
	return nil, errors.New("the server asks for more than a name and a password")
}

// checkTime is how long [Options.Check] takes at most.
const checkTime = 15 * time.Second

// Check connects and signs in, but sends nothing.
func (o Options) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	c, end, err := o.session(ctx)
	if err != nil {
		return err
	}
	defer end()
	_ = c.Quit() // only polite
	return nil
}

// Send sends a mail. Its errors are those of [outbox.Way]. If the connection ends after all
// was sent and before the server has answered, it is unknown whether the mail arrives; when
// it is sent again, it has the same Message-ID.
func (o Options) Send(ctx context.Context, m Mail) error {
	err := o.send(ctx, m)
	if answer := new(textproto.Error); errors.As(err, &answer) && answer.Code >= 500 {
		return outbox.Final(err)
	}
	return err
}

func (o Options) send(ctx context.Context, m Mail) error {
	data, err := m.bytes(o.From)
	if err != nil {
		return outbox.Final(err)
	}
	c, end, err := o.session(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := c.Mail(o.From.Address); err != nil {
		return fmt.Errorf("send the sender: %w", err)
	}
	if err := c.Rcpt(m.To.Address); err != nil {
		return fmt.Errorf("send the receiver: %w", err)
	}
	w, err := c.Data()
	if err == nil {
		_, err = io.Copy(w, strings.NewReader(string(data)))
	}
	if err == nil {
		err = w.Close() // reads the answer
	}
	if err != nil {
		return fmt.Errorf("send the mail: %w", err)
	}
	_ = c.Quit() // the server has taken the mail
	return nil
}
