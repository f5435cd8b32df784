// Package webpush sends encrypted messages to browsers through their push services
// (RFC 8030), encrypted so that only the browser can read them (RFC 8291), and signed
// with a key that the browser has seen when it subscribed (VAPID, RFC 8292).
package webpush

import (
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Subscription is a browser's address for messages, as its PushSubscription is
// encoded in JSON.
type Subscription struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256DH string `json:"p256dh"` // public key, base64url
		Auth   string `json:"auth"`   // secret of 16 bytes, base64url
	} `json:"keys"`
	// Person is who was signed in when the browser subscribed. It is empty for the owner of
	// the installation.
	Person string `json:"-"`
}

// MaxMessage is the maximum length of a message in bytes. Push services accept
// encrypted messages of at least 4,096 bytes.
const MaxMessage = recordSize - 16 - 1 - 86

// recordSize is the size of the only record of a message, with its header.
const recordSize = 4096

// ErrGone is returned for a subscription that has ended.
var ErrGone = errors.New("the subscription has ended")

var encoding = base64.RawURLEncoding

// keys returns the browser's public key and secret.
func (s Subscription) keys() (public *ecdh.PublicKey, auth []byte, err error) {
	point, err := decode(s.Keys.P256DH)
	if err == nil {
		public, err = ecdh.P256().NewPublicKey(point)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the subscription's public key is invalid: %w", err)
	}
	if auth, err = decode(s.Keys.Auth); err != nil || len(auth) != 16 {
		return nil, nil, errors.New("the subscription's secret is not 16 bytes as base64url")
	}
	return public, auth, nil
}

// decode decodes base64url, with or without padding.
func decode(text string) ([]byte, error) {
	return encoding.DecodeString(string(bytes.TrimRight([]byte(text), "=")))
}

// Check returns why no message can be sent to the subscription, or nil.
func (s Subscription) Check() error {
	u, err := url.Parse(s.Endpoint)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(s.Endpoint) > 2000 {
		return errors.New("the endpoint is not an https address")
	}
	_, _, err = s.keys()
	return err
}

// encrypt encrypts a message for a subscription: RFC 8291, section 3.
func encrypt(message []byte, s Subscription, own *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	if len(message) > MaxMessage {
		return nil, fmt.Errorf("the message has %d bytes; the maximum is %d", len(message), MaxMessage)
	}
	public, auth, err := s.keys()
	if err != nil {
		return nil, err
	}
	shared, err := own.ECDH(public)
	if err != nil {
		return nil, fmt.Errorf("agree on a key: %w", err)
	}
	info := "WebPush: info\x00" + string(public.Bytes()) + string(own.PublicKey().Bytes())
	input, err := hkdf.Key(sha256.New, shared, auth, info, 32)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, input, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(bytes.Clone(salt))
	_ = binary.Write(out, binary.BigEndian, uint32(recordSize)) // a buffer accepts everything
	out.WriteByte(byte(len(own.PublicKey().Bytes())))
	out.Write(own.PublicKey().Bytes())
	last := append(bytes.Clone(message), 2) // marks the last record
	return gcm.Seal(out.Bytes(), nonce, last, nil), nil
}

// Sender signs and sends messages. Its methods may be called concurrently.
type Sender struct {
	// Client sends the requests. If nil, it is [http.DefaultClient].
	Client *http.Client
	// Contact is an address at which a push service reaches the operator: a mailto:
	// or https: URL.
	Contact string

	key *ecdsa.PrivateKey
}

// New returns a sender whose key follows from a secret of at least 32 bytes, so that
// all processes of an installation have the same.
func New(secret []byte) (*Sender, error) {
	for n := range byte(255) { // one number in four billion is too large for a key
		seed, err := hkdf.Key(sha256.New, secret, nil, "deskhand vapid "+string(n), 32)
		if err != nil {
			return nil, err
		}
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed); err == nil {
			return &Sender{key: key}, nil
		}
	}
	return nil, errors.New("no key follows from the secret")
}

// PublicKey returns the key that browsers subscribe with, as base64url.
func (s *Sender) PublicKey() string {
	point, err := s.key.PublicKey.Bytes()
	if err != nil {
		panic(err) // the key is on the curve
	}
	return encoding.EncodeToString(point)
}

// authorization returns the header that shows a push service who sends: RFC 8292.
func (s *Sender) authorization(endpoint *url.URL, now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{"aud": endpoint.Scheme + "://" + endpoint.Host, "exp": now.Add(12 * time.Hour).Unix(), "sub": s.Contact})
	if err != nil {
		return "", err
	}
	text := encoding.EncodeToString([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + encoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(text))
	r, v, err := ecdsa.Sign(rand.Reader, s.key, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	v.FillBytes(signature[32:])
	return "vapid t=" + text + "." + encoding.EncodeToString(signature) + ", k=" + s.PublicKey(), nil
}

// Urgency tells a push service whether to wake a device: very-low, low, normal or high.
type Urgency string

// AnswerError is the error for an answer of a push service that is no success.
type AnswerError struct {
	Message string
	Status  int           // HTTP's
	After   time.Duration // how long to wait before a retry; zero if it does not say
}

// Error implements [error].
func (e *AnswerError) Error() string { return e.Message }

// Send sends a message, which the push service keeps for at most ttl. The error is
// [ErrGone] if the subscription has ended.
func (s *Sender) Send(ctx context.Context, to Subscription, message []byte, urgency Urgency, ttl time.Duration) error {
	own, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	body, err := encrypt(message, to, own, salt)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.Endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	signed, err := s.authorization(r.URL, time.Now())
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", signed)
	r.Header.Set("Content-Encoding", "aes128gcm")
	r.Header.Set("Content-Type", "application/octet-stream")
	r.Header.Set("TTL", strconv.Itoa(int(ttl.Seconds())))
	r.Header.Set("Urgency", string(urgency))
	w, err := cmp.Or(s.Client, http.DefaultClient).Do(r)
	if err != nil {
		return fmt.Errorf("reach the push service %s: %w", r.URL.Host, errors.Unwrap(err)) // without the address, which is a secret
	}
	defer w.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(w.Body, 200)) // only for the message
	switch {
	case w.StatusCode == http.StatusNotFound || w.StatusCode == http.StatusGone:
		return ErrGone
	case w.StatusCode/100 != 2:
		seconds, _ := strconv.Atoi(w.Header.Get("Retry-After")) // 0 if it is none
		return &AnswerError{fmt.Sprintf("the push service %s answered %s: %q", r.URL.Host, w.Status, said), w.StatusCode, time.Duration(max(seconds, 0)) * time.Second}
	}
	return nil
}
