package main

import (
	"net/url"
	"strings"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/web"
)

// notices reads the settings; an error is a misuse that names the one to
// correct.
func (a *app) notices(token string) (n installation.Notices, err error) {
	for _, text := range a.settings.list("notify") {
		h, err := notify.ParseHook(text, web.Key(token, "webhook"))
		if err != nil {
			return n, misuse("notify: "+err.Error(), "correct "+a.settings.origin("notify"))
		}
		n.Hooks = append(n.Hooks, h)
	}
	if n.Quiet, err = notify.ParseQuiet(a.settings.get("quiet-hours")); err != nil {
		return n, misuse("quiet-hours: "+err.Error(), "correct "+a.settings.origin("quiet-hours"))
	}
	if n.Base = strings.TrimSuffix(a.settings.get("public-url"), "/"); n.Base != "" {
		if u, err := url.Parse(n.Base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return n, a.settings.wrong("public-url", "not an address such as https://desk.example.org", "")
		}
	}
	return n, nil
}
