package a2a

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/deskhand/deskhand/runtime/netguard"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// outside reaches only the internet.
//
// A client chooses where push notifications go, and every agent with the token
// is a client. So deskhand by default sends nothing to addresses that only this
// machine or its network can reach, and sends no credentials. The configuration
// can list hosts that are exempt from both rules.
var outside http.RoundTripper = netguard.Guard{}.Transport()

// named reports whether the configuration lists the URL's host.
func (s *Server) named(at *url.URL) bool {
	host := strings.ToLower(at.Host)
	if at.Port() == "" {
		host += map[string]string{"http": ":80", "https": ":443"}[at.Scheme]
	}
	return slices.Contains(s.o.PushTo, host)
}

// mayPush returns an error if notifications may not go to the URL. It does not
// resolve the host name; tell checks the resolved address when it connects.
// mayPush also rejects credentials for hosts that the configuration does not
// list.
func (s *Server) mayPush(p *a2a.PushConfig) error {
	at, err := url.Parse(p.URL)
	switch {
	case err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "":
		return invalid("push notification url %q is not an http or https address", textutil.Shorten(p.URL, 100))
	case at.User != nil:
		return invalid("push notification url contains a user name or password: use token")
	case s.named(at):
		return nil
	case p.Auth != nil && p.Auth.Credentials != "":
		return invalid("authentication is not sent to %s for push notifications: use token, or list the host in the server's a2a.push_to", textutil.Shorten(at.Host, 100))
	}
	if err := (netguard.Guard{}).CheckURL(at); err != nil {
		return invalid("push notifications may not go to %s: %s; to allow it, list the host in the server's a2a.push_to", textutil.Shorten(at.Host, 100), err)
	}
	return nil
}
