package ask

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// overHTTP is a client of a server that may have others.
func overHTTP(t testing.TB, place, version string, o Options, c mcp.ClientOptions) (caller, string) {
	t.Helper()
	d, server := serverOf(t, place, o)
	at := httptest.NewServer(server.Handler())
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: at.URL}, version, c)
	t.Cleanup(func() {
		session.Close()
		at.CloseClientConnections()
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
		at.Close()
		d.Close()
	})
	return caller{t, session}, at.URL
}

func TestAPersonIsAskedOverHTTP(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		t.Run("in the client", func(t *testing.T) {
			place := t.TempDir()
			agent, _ := overHTTP(t, place, version, unattended(place), dialog(says("accept", map[string]any{"name": "Ann"})))
			if out := agent.call("ask_user", oneQuestion).output(t); !out.Answered || out.Answers[0].Values[0] != "Ann" {
				t.Errorf("ask_user = %+v, want Ann", out)
			}
		})
		t.Run("in the inbox", func(t *testing.T) {
			place := t.TempDir()
			var told atomic.Int32
			agent, _ := overHTTP(t, place, version, Options{Heartbeat: 20 * time.Millisecond}, mcp.ClientOptions{
				ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { told.Add(1) },
			})
			human := personAt(t, place)
			replies := agent.calls(t.Context(), "ask_user", oneQuestion, 7)
			r := human.sees()
			waittest.Until(t, "the client is told 5 times", func() (bool, any) { n := told.Load(); return n >= 5, n })
			human.answers(r, "Ann")
			if out := got(t, replies).output(t); !out.Answered {
				t.Errorf("ask_user = %+v, want an answer", out)
			}
		})
	})
}

// A client that drops the connection says nothing, and nobody would read the
// answer of its call.
func TestAClientThatDropsItsConnectionIsNoticed(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		place := t.TempDir()
		agent, url := overHTTP(t, place, version, Options{}, mcp.ClientOptions{})
		human := personAt(t, place)
		meta, header := "", map[string]string{"Mcp-Session-Id": agent.session.ID(), "Mcp-Protocol-Version": version}
		if version == modern {
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}`
			header = map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": "ask_user"}
		}
		ctx, drop := context.WithCancel(t.Context())
		defer drop()
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":99,"method":"tools/call","params":{"name":"ask_user","arguments":%s%s}}`, oneQuestion, meta)
		req, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range header {
			req.Header.Set(name, value)
		}
		req.Header.Set("Deskhand-Call", "made up")
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		go func() {
			if res, err := (&http.Client{Transport: &http.Transport{}}).Do(req); err == nil {
				res.Body.Close()
			}
		}()
		human.sees()
		drop()
		if r := human.left(true); !r.AskerGone {
			t.Errorf("the question is %+v, want its asker gone", r)
		}
	})
}
