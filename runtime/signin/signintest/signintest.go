// Package signintest is an identity provider for tests. It signs real tokens, and can be told
// to make wrong ones.
package signintest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// ClientID and Secret identify the one client of the provider.
const (
	ClientID = "deskhand"
	Secret   = "the-secret-of-the-client"
)

// Provider is a running provider. Its fields may be changed between sign-ins.
type Provider struct {
	*httptest.Server
	// Claims are the claims about whoever signs in next.
	Claims map[string]any
	// Change, if not nil, changes a token's header and claims before it is signed.
	Change func(header, claims map[string]any)
	// Unsigned leaves out the signature, and Foreign signs with a key that is not
	// published.
	Unsigned, Foreign bool
	// Info are the claims that only the page about the user has.
	Info map[string]any
	// NamesItself announces that answers contain the issuer.
	NamesItself bool
	// KeyReads is how often the keys were read.
	KeyReads int

	mu    sync.Mutex
	key   *rsa.PrivateKey
	id    string
	codes map[string]asked
}

type asked struct{ redirect, challenge, nonce string }

// New starts a provider.
func New(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{Claims: map[string]any{}, codes: map[string]asked{}}
	p.Rotate(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.configuration)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) { reply(w, p.Info) })
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// Rotate replaces the provider's key.
func (p *Provider) Rotate(t testing.TB) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.id = key, rand.Text()
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func (p *Provider) configuration(w http.ResponseWriter, _ *http.Request) {
	reply(w, map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"userinfo_endpoint": p.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256", "none"},
		"authorization_response_iss_parameter_supported": p.NamesItself})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.KeyReads++
	reply(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": p.id,
		"n": base64.RawURLEncoding.EncodeToString(p.key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(p.key.E)).Bytes())}}})
}

// authorize sends the browser back at once, as if the person had signed in.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" {
		http.Error(w, "a wrong request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = asked{q.Get("redirect_uri"), q.Get("code_challenge"), q.Get("nonce")}
	p.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}}.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	p.mu.Lock()
	one, ok := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	p.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || id != ClientID || secret != Secret || one.redirect != r.FormValue("redirect_uri") || one.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
		w.WriteHeader(http.StatusBadRequest)
		reply(w, map[string]string{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "sub": "subject", "nonce": one.nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for name, v := range p.Claims {
		claims[name] = v
	}
	reply(w, map[string]any{"access_token": "access", "token_type": "Bearer", "id_token": p.sign(claims)})
}

// sign returns claims as a token.
func (p *Provider) sign(claims map[string]any) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	header := map[string]any{"alg": "RS256", "kid": p.id, "typ": "JWT"}
	if p.Change != nil {
		p.Change(header, claims)
	}
	text := encoded(header) + "." + encoded(claims)
	if p.Unsigned {
		return text + "."
	}
	key := p.key
	if p.Foreign {
		var err error
		if key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			panic(err)
		}
	}
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}
