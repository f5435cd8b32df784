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

// Where push notifications go, a client says, who may be anybody with the token:
// deskhand is not to ask for it at what only this machine or its network reaches,
// and shows nothing there by which somebody could sign in. The owner of the
// configuration names hosts for which both is right.

// outside reaches the internet alone.
var outside http.RoundTripper = netguard.Guard{}.Transport()

// named says that the configuration names the host of an address.
func (s *Server) named(at *url.URL) bool {
	host := strings.ToLower(at.Host)
	if at.Port() == "" {
		host += map[string]string{"http": ":80", "https": ":443"}[at.Scheme]
	}
	return slices.Contains(s.o.PushTo, host)
}

// mayPush refuses an address that is not to be asked, as far as that can be told
// before its name is looked up, and what a client wants shown there.
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
