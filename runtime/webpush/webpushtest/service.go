// Package webpushtest is a double of a push service, with one browser behind it.
package webpushtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// Service is a push service over TLS. It decrypts what it gets, as the browser would.
type Service struct {
	*httptest.Server
	// Endpoint, Key and Auth are the browser's subscription.
	Endpoint, Key, Auth string

	browser *ecdh.PrivateKey
	auth    []byte
	mu      sync.Mutex
	got     []string
	headers http.Header
	status  int
}

// New starts a service that ends with the test.
func New(t testing.TB) *Service {
	s := &Service{auth: make([]byte, 16), status: http.StatusCreated}
	_, _ = rand.Read(s.auth) // never fails
	var err error
	if s.browser, err = ecdh.P256().GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a short body cannot be decrypted
		s.mu.Lock()
		defer s.mu.Unlock()
		s.headers = r.Header
		if s.status == http.StatusCreated {
			text, err := s.decrypt(body)
			if err != nil {
				t.Errorf("the message cannot be read: %v", err)
			}
			s.got = append(s.got, text)
		}
		w.WriteHeader(s.status)
	}))
	t.Cleanup(s.Close)
	s.Endpoint = s.URL + "/to/a-browser"
	s.Key, s.Auth = base64.RawURLEncoding.EncodeToString(s.browser.PublicKey().Bytes()), base64.RawURLEncoding.EncodeToString(s.auth)
	return s
}

// Answer sets the status of subsequent responses. If it is not 201, messages are not read.
func (s *Service) Answer(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// Got returns the decrypted messages, and the headers of the last request.
func (s *Service) Got() ([]string, http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got), s.headers
}

// decrypt does what a browser does: section 4 of RFC 8291.
func (s *Service) decrypt(body []byte) (string, error) {
	if len(body) < 86 {
		return "", errors.New("it is too short")
	}
	salt, sender := body[:16], body[21:86]
	public, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return "", err
	}
	shared, err := s.browser.ECDH(public)
	if err != nil {
		return "", err
	}
	input, _ := hkdf.Key(sha256.New, shared, s.auth, "WebPush: info\x00"+string(s.browser.PublicKey().Bytes())+string(sender), 32) // these lengths are valid
	key, _ := hkdf.Key(sha256.New, input, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce, _ := hkdf.Key(sha256.New, input, salt, "Content-Encoding: nonce\x00", 12)
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return "", err
	}
	plain, err := gcm.Open(nil, nonce, body[86:], nil)
	if err != nil {
		return "", err
	}
	if plain[len(plain)-1] != 2 {
		return "", errors.New("it is not the last record")
	}
	return string(plain[:len(plain)-1]), nil
}
