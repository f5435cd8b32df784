package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/deskhand/deskhand/runtime/netguard"
)

// webTime is the time limit for one request to an authorization server.
const webTime = 15 * time.Second

// maxWeb is the maximum size of an answer from an authorization server, in bytes.
const maxWeb = 1 << 20

// web returns a client for authorization servers. It never sends anything that
// belongs to an upstream, never redirects a token request, and never connects where
// the guard refuses. The guard is needed because the upstream names the
// authorization server, and that server may redirect: a server on the internet must
// not send deskhand to addresses that only this machine or its network can reach.
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

// signingIn sends requests to authorization servers and adds extra to each POST.
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

// mayNotReach returns the error for a refused address, which says what to do if
// the address is correct.
func (u *upstream) mayNotReach(r *netguard.Refused) error {
	if r.Ever {
		return fmt.Errorf("%w, and %s may not point there", r, u.Title)
	}
	return fmt.Errorf("%w, and %s may not point there; set inside: true under upstream %s if that is on your network too", r, u.Title, u.Name)
}

// guard returns the guard for addresses that the upstream names. Whether they may
// be inside the network is decided by the configuration, not by the upstream's DNS.
func (u *Upstream) guard() netguard.Guard {
	return netguard.Guard{Inside: u.Inside || netguard.IsInside(u.URL) || netguard.IsInside(u.Auth.Issuer)}
}
