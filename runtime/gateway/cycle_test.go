package gateway

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An upstream may be the server that is calling it, so that it lists this server's
// tools as its own.
func TestToolsThatCameThroughAnUpstreamAreNotTakenFromItAgain(t *testing.T) {
	double := newUpstreamServer()
	server := httptest.NewServer(double.handler(false))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	linear := Upstream{Name: "linear", URL: server.URL}
	input := json.RawMessage(`{"type":"object"}`)
	for name, meta := range map[string]mcp.Meta{
		"mine":     {viaKey: []string{"0123", linear.mark()}},
		"anothers": {viaKey: []string{"0123"}},
		"odd":      {viaKey: 5},
	} {
		double.AddTool(&mcp.Tool{Name: name, InputSchema: input, Meta: meta}, double.slow)
	}
	d := at(t, t.TempDir(), nil, linear)
	offered := strings.Join(names(d.Tools()), " ")
	if strings.Contains(offered, "linear_mine") || !strings.Contains(offered, "linear_anothers") || !strings.Contains(offered, "linear_odd") {
		t.Errorf("tools = %s, want all but the one that came through linear", offered)
	}
	for tool, want := range map[string]string{"linear_echo": `["` + linear.mark() + `"]`, "linear_anothers": `["0123","` + linear.mark() + `"]`} {
		if got := string(d.tool(tool).Published); !strings.Contains(got, `"`+viaKey+`":`+want) {
			t.Errorf("%s is published as %s, want marks %s", tool, got, want)
		}
	}
}

func TestACommandIsNotStartedByItself(t *testing.T) {
	u := command(t)
	t.Setenv(viaVariable, "0123,"+u.mark())
	d := opened(t, t.TempDir(), nil, u)
	const patience = time.Minute // how long Start waits for an upstream that is starting
	began := time.Now()
	d.Start(patience)
	if tools, took := names(d.Tools()), time.Since(began); len(tools) > 0 || took >= patience/2 || !strings.Contains(d.log.String(), "starts this same server again") {
		t.Errorf("started for %s, the gateway has %v after %v and logs %s; want no tools and no waiting for them", u.Name, tools, took, d.log)
	}
}
