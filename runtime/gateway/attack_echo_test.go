package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// An upstream repeats its credential. No agent sees it, wherever it is and however
// JSON spells it.
func TestAttackDoorsUpstreamEcho(t *testing.T) {
	const token = "s3cret/token-of-alice"
	escaped := `s3cret\/token-of-alice`
	var hex strings.Builder
	for _, c := range token {
		fmt.Fprintf(&hex, `\u%04x`, c)
	}
	for what, said := range map[string]string{
		"a text":              `{"content":[{"type":"text","text":"Authorization: Bearer ` + token + `"}]}`,
		"an escaped text":     `{"content":[{"type":"text","text":"` + escaped + `"}]}`,
		"a text in hex":       `{"content":[{"type":"text","text":"` + hex.String() + `"}]}`,
		"structured":          `{"content":[],"structuredContent":{"headers":{"authorization":"Bearer ` + token + `"}}}`,
		"a name of a member":  `{"content":[],"structuredContent":{"` + token + `":1}}`,
		"meta":                `{"content":[],"_meta":{"x/y":"` + token + `"}}`,
		"a link":              `{"content":[{"type":"resource_link","uri":"x://` + token + `","name":"n"}]}`,
		"a refusal":           `{"isError":true,"content":[{"type":"text","text":"` + token + ` is no good"}]}`,
		"an embedded text":    `{"content":[{"type":"resource","resource":{"uri":"x://1","text":"` + token + `"}}]}`,
		"the client's secret": `{"content":[{"type":"text","text":"client-secret-1"}]}`,
		"a header":            `{"content":[{"type":"text","text":"header-key-1"}]}`,
		"another header":      `{"content":[{"type":"text","text":"plain-value"}]}`,
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(what, ", stream ", stream), func(t *testing.T) {
				s := offers(t, "")
				s.call = func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
					if !stream {
						answer(w, id, said)
						return
					}
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata: \"result\":%s}\n\n", id, said)
				}
				d := at(t, t.TempDir(), nil, Upstream{Name: "up", URL: s.URL, Scope: ProjectScope, Auth: Auth{Kind: Key, ClientSecret: "client-secret-1"},
					Headers: map[string]string{"X-Api-Key": "header-key-1", "X-Region": "plain-value"}})
				if err := d.Connect(t.Context(), "up", token); err != nil {
					t.Fatal(err)
				}
				d.tool("up_good")
				o := d.now("up_good", "{}")
				all, err := json.Marshal([]any{o.result.Content, o.result.Structured, o.result.Meta, fmt.Sprint(o.err)})
				if err != nil || o.err != nil {
					t.Fatalf("the call = %v, %v", o.err, err)
				}
				for _, secret := range []string{token, escaped, "client-secret-1", "header-key-1"} {
					if strings.Contains(string(all), secret) {
						t.Errorf("the agent gets %s", all)
					}
				}
				if plain := strings.Contains(string(all), "plain-value"); what == "another header" && !plain || what != "another header" && !strings.Contains(string(all), hidden) {
					t.Errorf("the agent gets %s, want everything but the secret", all)
				}
			})
		}
	}
	t.Run("errors, lists, resources, logs", func(t *testing.T) {
		s := newStranger(t, &stranger{lists: map[string]string{
			"tools/list":     `{"tools":[{"name":"good","description":"` + token + `","inputSchema":{"type":"object"}}]}`,
			"resources/list": `{"resources":[{"uri":"x://1","name":"` + token + `"}]}`,
			"resources/read": `{"contents":[{"uri":"x://1","text":"` + token + `"}]}`,
		}})
		s.call = func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s"}}`, id, hex.String())
		}
		d := at(t, t.TempDir(), nil, Upstream{Name: "up", URL: s.URL, Scope: ProjectScope, Auth: Auth{Kind: Key}})
		if err := d.Connect(t.Context(), "up", token); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the list hides it", func() (bool, any) { got := d.tool("up_good").Description; return got == hidden, got })
		e := d.Elsewhere(none, none)
		read, err := e.Read(t.Context(), contract.Caller{}, "x://1")
		all := fmt.Sprint(d.now("up_good", "{}").text(), d.tool("up_good").Description, string(e.Resources[0].Published), string(read), err, d.log)
		if strings.Contains(all, token) || strings.Count(all, hidden) < 4 {
			t.Errorf("the agent gets %s", all)
		}
	})
	t.Run("a command", func(t *testing.T) {
		t.Setenv("PASSED_TOKEN", "passed-secret-1")
		u := command(t)
		u.Pass, u.Scope = []string{"PASSED_TOKEN"}, ProjectScope
		u.Env["NAMED_KEY"], u.Env["NAMED"] = "named-secret-1", "named-plain-1"
		d := at(t, t.TempDir(), nil, u)
		if err := d.Connect(t.Context(), "notes", token); err != nil {
			t.Fatal(err)
		}
		d.tool("notes_environment")
		got := d.now("notes_environment", "{}").text()
		for _, secret := range []string{token, "passed-secret-1", "named-secret-1"} {
			if strings.Contains(got, secret) {
				t.Errorf("the agent gets %s", secret)
			}
		}
		if !strings.Contains(got, "PASSED_TOKEN="+hidden) || !strings.Contains(got, "NAMED=named-plain-1") {
			t.Errorf("the agent gets %s", got)
		}
	})
}

func FuzzRedact(f *testing.F) {
	f.Add(`{"a":"secret-123","b":"sec\u0072et-123"}`)
	f.Add(`["\"secret-123\\"]`)
	f.Fuzz(func(t *testing.T, message string) {
		var s secrets
		s.add("secret-123")
		raw := s.redact([]byte(message))
		if json.Valid([]byte(message)) != json.Valid(raw) {
			t.Fatalf("%q becomes %q", message, raw)
		}
		var value any
		if json.Unmarshal(raw, &value) != nil {
			return
		}
		if plain, err := json.Marshal(value); err != nil || strings.Contains(string(plain), "secret-123") {
			t.Errorf("%q still has the secret: %s", message, plain)
		}
	})
}
