package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Go's error is for the log. The agent is told what is wrong and what to do.
func TestWhyAnUpstreamCannotBeReachedIsWorded(t *testing.T) {
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer page.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	for name, c := range map[string]struct {
		u    Upstream
		want string
	}{
		"refused":       {Upstream{URL: closed.URL}, "nothing is listening at " + strings.TrimPrefix(closed.URL, "http://")},
		"no host":       {Upstream{URL: "http://nobody.invalid/mcp"}, "the host nobody.invalid is not found"},
		"no such path":  {Upstream{URL: missing.URL}, "404 Not Found"},
		"web page":      {Upstream{URL: page.URL}, "does not speak MCP"},
		"certificate":   {Upstream{URL: secure.URL}, "its certificate is not trusted"},
		"no command":    {Upstream{Command: []string{"no-such-program-here"}}, "the command no-such-program-here is not found"},
		"command fails": {Upstream{Command: []string{"sh", "-c", "echo cannot open config >&2; exit 3"}}, "the command sh exited and printed: cannot open config"},
		"silent end":    {Upstream{Command: []string{"sh", "-c", "exit 3"}}, "the command sh exited"},
	} {
		t.Run(name, func(t *testing.T) {
			c.u.Name = "linear"
			d := at(t, t.TempDir(), nil, c.u)
			_, err := d.upstreams[0].call(t.Context(), &call{caller: contract.Caller{}, name: "linear_echo", tool: "echo"})
			f := fault.Of(err)
			if f == nil || f.Code != "upstream_unreachable" || !strings.HasPrefix(f.Message, "Linear cannot be reached: ") || !strings.Contains(f.Message, c.want) {
				t.Fatalf("the error is %v, want upstream_unreachable with %q", err, c.want)
			}
			for _, inside := range []string{"calling", "dial tcp", "exec:", "jsonrpc", "Post ", "%!", "EOF"} {
				if strings.Contains(f.Message, inside) {
					t.Errorf("the message is %q, with %q of the inside", f.Message, inside)
				}
			}
			if !strings.Contains(d.log.String(), "the upstream is not reachable") {
				t.Error("the log does not have the reason")
			}
		})
	}
}
