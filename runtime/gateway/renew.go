package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// renewTime is the time limit for a renewal, and how long other callers wait for
// the renewal.
const renewTime = 30 * time.Second

// usable returns the upstream's credential, renewed if it is about to expire. It
// returns nil if there is no credential or if it cannot be renewed. In both
// cases, someone has to connect.
func (u *upstream) usable(ctx context.Context) (*Credential, error) {
	if u.Scope == NoScope {
		return nil, nil
	}
	if err := u.forOne(); err != nil {
		return nil, err
	}
	if u.anothers(ctx) {
		return nil, u.notTheirs(access.Of(ctx).Name)
	}
	v, err := u.g.open(ctx)
	if err != nil {
		return nil, err
	}
	c, err := v.credential(ctx, u.Name, u.principal())
	if err != nil || c == nil || !c.stale(time.Now()) {
		return u.use(c), err
	}
	return u.renew(ctx, v, c)
}

// use makes c the credential for requests outside calls, unless a newer one is
// already in use.
func (u *upstream) use(c *Credential) *Credential {
	for {
		now := u.current.Load()
		if c != nil && now != nil && c.rev < now.rev || u.current.CompareAndSwap(now, c) {
			return c
		}
	}
}

// renew exchanges the refresh token. Only one process does so at a time, because a
// server that rotates refresh tokens accepts each of them once. old is the
// credential to renew. If another process was faster, its result is used.
func (u *upstream) renew(ctx context.Context, v *vault, old *Credential) (*Credential, error) {
	u.renewing.Lock()
	defer u.renewing.Unlock()
	lease := store.Lease{Name: "gateway/renew/" + u.Name + "/" + u.principal(), Holder: rand.Text()}
	for limit := time.Now().Add(renewTime); ; {
		_, held, err := v.db.Claim(ctx, lease, renewTime)
		if err != nil {
			return nil, err
		}
		if held { // the loop always returns in this case
			defer v.db.Release(context.WithoutCancel(ctx), lease.Name, lease.Holder) // if this fails, the lease expires
		}
		c, err := v.credential(ctx, u.Name, u.principal())
		switch {
		case err != nil:
			return nil, err
		case c == nil || c.rev != old.rev:
			return u.use(c), nil
		case held:
			return u.exchange(ctx, v, c)
		}
		if time.Now().After(limit) {
			return nil, errors.New("another process started renewing the credential but did not finish")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// exchange requests a new token and stores it before it is used.
func (u *upstream) exchange(ctx context.Context, v *vault, c *Credential) (*Credential, error) {
	if c.Refresh == "" {
		if time.Now().Before(c.Expires) {
			return u.use(c), nil // still valid until then
		}
		_, err := v.drop(ctx, u.Name, u.principal(), c.rev)
		return u.use(nil), err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTime) // the new token must be stored, because the old one is used up
	defer cancel()
	config := c.Client.config(c.TokenURL, "", nil)
	asking := context.WithValue(ctx, oauth2.HTTPClient, u.web(extraFields{"resource": c.Resource}))
	token, err := config.TokenSource(asking, &oauth2.Token{RefreshToken: c.Refresh}).Token()
	refused := new(oauth2.RetrieveError)
	switch {
	case errors.As(err, &refused) && final(refused):
		u.g.log.Warn("cannot renew the credential; someone has to connect again", "upstream", u.Name, "reason", refused.ErrorCode)
		_, err := v.drop(ctx, u.Name, u.principal(), c.rev)
		return u.use(nil), err
	case err != nil && time.Now().Before(c.Expires):
		return u.use(c), nil // the next call retries
	case err != nil:
		return nil, u.notRenewed(c)
	}
	next := *c
	next.Access, next.Got, next.Expires = token.AccessToken, time.Now(), token.Expiry
	if token.RefreshToken != "" {
		next.Refresh = token.RefreshToken
	}
	err = v.renewed(ctx, u.Name, u.principal(), &next, c.rev)
	if errors.Is(err, errReplaced) {
		c, err := v.credential(ctx, u.Name, u.principal())
		return u.use(c), err
	}
	if err != nil {
		return nil, err
	}
	u.g.log.Debug("credential renewed", "upstream", u.Name)
	return u.use(&next), nil
}

// notRenewed returns the error for an expired credential that may be renewed later.
func (u *upstream) notRenewed(c *Credential) error {
	return &fault.Fault{Code: "sign_in_unreachable", Message: "the credential for " + u.Title + " has expired and " + hostOf(c.Issuer) + ", which renews it, cannot be reached",
		Hint: "call again in a moment", Retryable: true}
}

// final reports whether an issuer will never renew a credential: the issuer
// answered with an error code of RFC 6749 section 5.2, or at least with a status
// code named there. Other systems along the way, for example a hotel's sign-in
// page or a firewall, may answer in place of the issuer.
func final(refused *oauth2.RetrieveError) bool {
	switch refused.ErrorCode {
	case "":
		return refused.Response.StatusCode == http.StatusBadRequest || refused.Response.StatusCode == http.StatusUnauthorized
	case "temporarily_unavailable", "server_error", "slow_down":
		return false
	}
	return refused.Response.StatusCode < 500 && refused.Response.StatusCode != http.StatusTooManyRequests
}

// extraFields holds parameters that are sent with every request to a token
// endpoint.
type extraFields map[string]string

// carry adds the fields to a request.
func (f extraFields) carry(r *http.Request) (*http.Request, error) {
	if r.Method != http.MethodPost || r.Body == nil {
		return r, nil
	}
	data, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(string(data))
	if err != nil {
		return nil, fmt.Errorf("read token request: %w", err)
	}
	for name, value := range f {
		if value != "" {
			values.Set(name, value)
		}
	}
	text := values.Encode()
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader([]byte(text))), int64(len(text))
	r.GetBody = nil
	return r, nil
}
