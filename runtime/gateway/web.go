package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/deskhand/deskhand/runtime/netguard"
)

// webTime bounds one request to an authorization server.
const webTime = 15 * time.Second

// maxWeb bounds an answer of an authorization server, in bytes.
const maxWeb = 1 << 20

// web is a client for authorization servers: never with what belongs to an
// upstream, never somewhere else than asked with a token request, and never
// where the guard says no. Where people sign in, the upstream tells, and
// redirections of that place: one on the internet is not to lead to what only
// this machine or its network reaches.
func (u *upstream) web(extra extraFields) *http.Client {
	return &http.Client{
		Timeout:   webTime,
		Transport: signingIn{u, extra},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			last := via[len(via)-1]
			switch {
			case via[0].Method != http.MethodGet || len(via) > 3:
				return http.ErrUseLastResponse
			case last.URL.Scheme == "https" && r.URL.Scheme != "https":
				return errors.New(last.URL.Host + " redirects from https to " + r.URL.Scheme)
			}
			return nil
		},
	}
}

// signingIn sends requests to authorization servers, each POST with what extra
// has.
type signingIn struct {
	u     *upstream
	extra extraFields
}

func (s signingIn) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.extra != nil {
		var err error
		if r, err = s.extra.carry(r); err != nil {
			return nil, err
		}
	}
	answer, err := s.u.outward.RoundTrip(r)
	if refused := new(netguard.Refused); errors.As(err, &refused) {
		return nil, s.u.mayNotReach(refused)
	}
	if err == nil {
		answer.Body = &bounded{ReadCloser: answer.Body, left: maxWeb}
	}
	return answer, err
}

// mayNotReach says what to do if an address is right all the same.
func (u *upstream) mayNotReach(r *netguard.Refused) error {
	if r.Ever {
		return fmt.Errorf("%w, and %s may not point there", r, u.Title)
	}
	return fmt.Errorf("%w, and %s may not point there; set inside: true under upstream %s if that is on your network too", r, u.Title, u.Name)
}

// guard is for what the upstream says: inside counts as the owner of the
// configuration has it, whatever the DNS of the upstream says.
func (u *Upstream) guard() netguard.Guard {
	return netguard.Guard{Inside: u.Inside || netguard.IsInside(u.URL) || netguard.IsInside(u.Auth.Issuer)}
}
