package webpush

import (
	"context"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/webpush/webpushtest"
)

// The example of RFC 8291, appendix A.
func TestEncryptsAsTheExampleOfTheStandard(t *testing.T) {
	var s Subscription
	s.Keys.P256DH = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
	s.Keys.Auth = "BTBZMqHH6r4Tts7J_aSIgg"
	private, _ := decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
	own, err := ecdh.P256().NewPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	salt, _ := decode("DGv6ra1nlYgDCS1FRnbzlw")
	got, err := encrypt([]byte("When I grow up, I want to be a watermelon"), s, own, salt)
	want := "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if err != nil || encoding.EncodeToString(got) != want {
		t.Errorf("encrypt = %s, %v; want %s", encoding.EncodeToString(got), err, want)
	}
}

func subscription(s *webpushtest.Service) (one Subscription) {
	one.Endpoint, one.Keys.P256DH, one.Keys.Auth = s.Endpoint, s.Key, s.Auth
	return one
}

func TestAMessageReachesABrowser(t *testing.T) {
	service := webpushtest.New(t)
	sender, err := New([]byte(strings.Repeat("secret", 8)))
	if err != nil {
		t.Fatal(err)
	}
	sender.Client, sender.Contact = service.Client(), "https://deskhand.example"
	if again, _ := New([]byte(strings.Repeat("secret", 8))); again.PublicKey() != sender.PublicKey() {
		t.Error("two senders of one secret have two keys")
	}
	if err := sender.Send(t.Context(), subscription(service), []byte("Deploy?"), "high", time.Hour); err != nil {
		t.Fatal(err)
	}
	got, headers := service.Got()
	if len(got) != 1 || got[0] != "Deploy?" || headers.Get("TTL") != "3600" || headers.Get("Urgency") != "high" || headers.Get("Content-Encoding") != "aes128gcm" {
		t.Errorf("the service got %q with %v", got, headers)
	}
	token, key, _ := strings.Cut(strings.TrimPrefix(headers.Get("Authorization"), "vapid t="), ", k=")
	parts := strings.Split(token, ".")
	point, _ := decode(key)
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil || key != sender.PublicKey() || len(parts) != 3 {
		t.Fatalf("Authorization: %s", headers.Get("Authorization"))
	}
	signature, _ := decode(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		t.Error("the signature is wrong")
	}
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	text, _ := decode(parts[1])
	if json.Unmarshal(text, &claims) != nil || claims.Aud != service.URL || claims.Sub != sender.Contact || claims.Exp < time.Now().Unix() {
		t.Errorf("claims %s", text)
	}
	for status, gone := range map[int]bool{404: true, 410: true, 403: false, 429: false, 500: false} {
		service.Answer(status)
		if err := sender.Send(t.Context(), subscription(service), []byte("x"), "normal", time.Hour); err == nil || errors.Is(err, ErrGone) != gone || strings.Contains(err.Error(), "a-browser") {
			t.Errorf("%d: %v; want gone %v, and no address", status, err, gone)
		}
	}
	if err := sender.Send(t.Context(), subscription(service), make([]byte, MaxMessage+1), "normal", time.Hour); err == nil {
		t.Error("a message that is too long was sent")
	}
}

func TestSubscriptionsAreKeptUntilTheirSessionEnds(t *testing.T) {
	db, err := store.Open(context.Background(), t.TempDir(), Schema())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all, one := Subscriptions{db}, subscription(webpushtest.New(t))
	for _, endpoint := range []string{one.Endpoint, "https://push.example/2", "https://push.example/2", "https://push.example/3"} {
		s := one
		s.Endpoint = endpoint
		if err := all.Put(t.Context(), s, "session of "+endpoint[len(endpoint)-1:]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(all.Drop(t.Context(), one.Endpoint), all.DropSession(t.Context(), "session of 3")); err != nil {
		t.Fatal(err)
	}
	if left, err := all.All(t.Context()); err != nil || len(left) != 1 || left[0].Endpoint != "https://push.example/2" {
		t.Errorf("All = %+v, %v; want the second", left, err)
	}
	for _, bad := range []string{"http://push.example/1", "https:///x", "file:///etc/passwd", ""} {
		s := one
		s.Endpoint = bad
		if err := all.Put(t.Context(), s, ""); fault.Of(err) == nil {
			t.Errorf("Put(%q) = %v; want a fault", bad, err)
		}
	}
	one.Keys.Auth = "c2hvcnQ"
	if err := all.Put(t.Context(), one, ""); fault.Of(err) == nil {
		t.Errorf("Put with a short secret = %v; want a fault", err)
	}
}
