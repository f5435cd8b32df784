// Package mailtest is a mail server for tests. It speaks strict SMTP with STARTTLS or TLS and
// a certificate of its own authority, and can fail, hang and lie as told.
package mailtest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"
)

// User and Password sign in.
const (
	User     = "deskhand"
	Password = "pa55-w0rd-of-the-test"
)

// Options configure a Server. The zero value offers STARTTLS, and AUTH PLAIN after it.
type Options struct {
	Implicit bool   // TLS from the beginning
	NoTLS    bool   // does not offer STARTTLS
	Auth     string // offered methods; default PLAIN
	Names    []string
	// Answer replaces the answer to a command, for example "RCPT". If it returns "", the
	// server answers as usual. With "hang", it says nothing more; with "end", it closes the
	// connection. The command "greeting" comes first, and "data" after the mail's end.
	Answer func(command string, line string) string
}

// Received is a mail that the server has taken.
type Received struct {
	From, To string
	Data     string
	Secure   bool
	User     string
}

// Server is a mail server.
type Server struct {
	Host, Port string
	// Authority is the PEM of the certificate that signed the server's.
	Authority []byte

	t        testing.TB
	o        Options
	config   *tls.Config
	listener net.Listener
	working  sync.WaitGroup
	stopped  chan struct{}

	mu       sync.Mutex
	answer   func(string, string) string
	got      []Received
	commands []string
}

// New starts a server, until the test ends.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Auth == "" {
		o.Auth = "PLAIN"
	}
	if o.Names == nil {
		o.Names = []string{"127.0.0.1"}
	}
	s := &Server{t: t, o: o, answer: o.Answer, stopped: make(chan struct{})}
	s.certify()
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	s.Host, s.Port, _ = net.SplitHostPort(s.listener.Addr().String())
	if o.Implicit {
		s.listener = tls.NewListener(s.listener, s.config)
	}
	s.working.Go(s.accept)
	t.Cleanup(func() { close(s.stopped); s.listener.Close(); s.working.Wait() })
	return s
}

// certify creates an authority and a certificate.
func (s *Server) certify() {
	s.t.Helper()
	now := time.Now()
	sign := func(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
		if err != nil {
			s.t.Fatal(err)
		}
		return der
	}
	caKey, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "deskhand test authority"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	own := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, name := range s.o.Names {
		if ip := net.ParseIP(name); ip != nil {
			own.IPAddresses = append(own.IPAddresses, ip)
		} else {
			own.DNSNames = append(own.DNSNames, name)
		}
	}
	caDER := sign(ca, ca, caKey, caKey)
	s.Authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
	s.config = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{sign(own, ca, key, caKey), caDER}, PrivateKey: key}}}
}

// Trusting returns a client's configuration that trusts the server's authority.
func (s *Server) Trusting() *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.Authority)
	return &tls.Config{RootCAs: pool}
}

// Set replaces [Options.Answer].
func (s *Server) Set(answer func(command, line string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Got returns the mails that the server has taken.
func (s *Server) Got() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Received(nil), s.got...)
}

// Commands returns what clients sent, except the mails.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.commands...)
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.working.Go(func() {
			defer c.Close()
			ended := make(chan struct{})
			defer close(ended)
			s.working.Go(func() {
				select {
				case <-s.stopped:
					c.Close()
				case <-ended:
				}
			})
			one := &session{Server: s, conn: c, secure: s.o.Implicit}
			one.text = textproto.NewConn(c)
			one.serve()
		})
	}
}

// session is one connection.
type session struct {
	*Server
	conn     net.Conn
	text     *textproto.Conn
	secure   bool
	user     string
	from, to string
}

// say sends an answer, or what the test wants instead. It returns false if the connection
// ends.
func (s *session) say(command, line, usual string) bool {
	s.mu.Lock()
	answer := s.answer
	s.mu.Unlock()
	if answer != nil {
		if other := answer(command, line); other != "" {
			usual = other
		}
	}
	switch usual {
	case "hang":
		<-s.stopped
		return false
	case "end":
		return false
	}
	_, err := s.conn.Write([]byte(usual + "\r\n"))
	return err == nil
}

func (s *session) serve() {
	if !s.say("greeting", "", "220 mail.test ESMTP") {
		return
	}
	for {
		line, err := s.text.ReadLine()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.commands = append(s.commands, line)
		s.mu.Unlock()
		command, _, _ := strings.Cut(strings.ToUpper(line), " ")
		if !s.handle(command, line) {
			return
		}
	}
}

func (s *session) handle(command, line string) bool {
	switch command {
	case "EHLO":
		lines := []string{"250-mail.test"}
		if s.secure {
			lines = append(lines, "250-AUTH "+s.o.Auth)
		} else if !s.o.NoTLS {
			lines = append(lines, "250-STARTTLS")
		}
		return s.say(command, line, strings.Join(append(lines, "250 8BITMIME"), "\r\n"))
	case "STARTTLS":
		if s.secure || s.o.NoTLS {
			return s.say(command, line, "503 no")
		}
		if !s.say(command, line, "220 go ahead") {
			return false
		}
		secure := tls.Server(s.conn, s.config)
		if secure.Handshake() != nil {
			return false
		}
		s.conn, s.text, s.secure = secure, textproto.NewConn(secure), true
		return true
	case "AUTH":
		return s.auth(line)
	case "MAIL":
		s.from = between(line)
		if s.user == "" && s.secure {
			return s.say(command, line, "530 sign in first")
		}
		return s.say(command, line, "250 ok")
	case "RCPT":
		s.to = between(line)
		return s.say(command, line, "250 ok")
	case "DATA":
		if s.from == "" || s.to == "" {
			return s.say(command, line, "503 no")
		}
		if !s.say(command, line, "354 send it") {
			return false
		}
		data, ok := s.data()
		if !ok {
			return false
		}
		s.mu.Lock()
		s.got = append(s.got, Received{s.from, s.to, data, s.secure, s.user})
		s.mu.Unlock()
		return s.say("data", "", "250 taken")
	case "QUIT":
		s.say(command, line, "221 bye")
		return false
	}
	return s.say(command, line, "500 unknown")
}

// data reads a mail. It demands CRLF at the end of each line, and lines of at most 998
// characters (RFC 5322).
func (s *session) data() (string, bool) {
	var b strings.Builder
	r := bufio.NewReader(s.text.R)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", false
		}
		if !strings.HasSuffix(line, "\r\n") || strings.Count(line, "\r") != 1 || len(line) > 1000 {
			s.t.Errorf("the line %.100q of a mail is malformed", line)
		}
		if line == ".\r\n" {
			s.text.R = r
			return b.String(), true
		}
		b.WriteString(strings.TrimPrefix(line, "."))
	}
}

func (s *session) auth(line string) bool {
	if !s.secure {
		s.t.Error("the client signs in without TLS")
	}
	fields := strings.Fields(line)
	decode := func(text string) string { b, _ := base64.StdEncoding.DecodeString(text); return string(b) }
	given := ""
	switch {
	case len(fields) == 3 && fields[1] == "PLAIN":
		given = decode(fields[2])
	case fields[1] == "LOGIN":
		for _, prompt := range []string{"Username:", "Password:"} {
			fmt.Fprintf(s.conn, "334 %s\r\n", base64.StdEncoding.EncodeToString([]byte(prompt)))
			answer, err := s.text.ReadLine()
			if err != nil {
				return false
			}
			given += "\x00" + decode(answer)
		}
	}
	if given != "\x00"+User+"\x00"+Password {
		return s.say("AUTH", line, "535 wrong: "+given)
	}
	s.user = User
	return s.say("AUTH", line, "235 welcome")
}

func between(line string) string {
	_, rest, _ := strings.Cut(line, "<")
	address, _, _ := strings.Cut(rest, ">")
	return address
}
