package gateway

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBytesOfValuesAreFoundAgain(t *testing.T) {
	var o rawCache
	o.see([]byte(`{"result":{"tools":[{"name":"a","inputSchema": {"b":1, "a":{"z":[],"y":2e3}}}]}}`))
	var value any
	if err := json.Unmarshal([]byte(`{"a":{"y":2000,"z":[]},"b":1}`), &value); err != nil {
		t.Fatal(err)
	}
	if got, err := o.of(value); err != nil || string(got) != `{"b":1,"a":{"z":[],"y":2e3}}` {
		t.Errorf("of = %s, %v; want the bytes that were seen", got, err)
	}
	if got, err := o.of(map[string]any{"new": 1}); err != nil || string(got) != `{"new":1}` {
		t.Errorf("of a value that was not seen = %s, %v", got, err)
	}
}

func FuzzOriginals(f *testing.F) {
	f.Add([]byte(`{"inputSchema":{"b":1,"a":2}}`))
	f.Add([]byte(`[{"structuredContent":[{"requestedSchema":{}}]}]`))
	f.Fuzz(func(_ *testing.T, message []byte) {
		var o rawCache
		o.see(message)
	})
}

func TestNamesOfToolsAreThoseThatClientsTake(t *testing.T) {
	u := &upstream{Upstream: Upstream{Prefix: "up"}}
	for tool, want := range map[string]string{"list": "up_list", "a.b/c d": "up_a_b_c_d"} {
		if got := u.named(tool); got != want {
			t.Errorf("named(%q) = %q, want %q", tool, got, want)
		}
	}
	one, other := u.named(strings.Repeat("x", 100)+"1"), u.named(strings.Repeat("x", 100)+"2")
	if len(one) != 64 || one == other {
		t.Errorf("names of long tools = %q and %q, want two of 64", one, other)
	}
}

func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	good := Upstream{Name: "a", URL: "https://a.example"}
	if _, err := Check(good); err != nil {
		t.Fatal(err)
	}
	bare, err := Check(Upstream{Name: "a", URL: "https://a.example", Prefix: "-"})
	if again, _ := Check(bare); err != nil || again.Prefix != "-" {
		t.Errorf("a prefix %q, checked twice, is %q, %v", "-", again.Prefix, err)
	}
	for name, change := range map[string]func(*Upstream){
		"name":     func(u *Upstream) { u.Name = "A b" },
		"both":     func(u *Upstream) { u.Command = []string{"x"} },
		"neither":  func(u *Upstream) { u.URL = "" },
		"scheme":   func(u *Upstream) { u.URL = "ftp://a" },
		"password": func(u *Upstream) { u.URL = "https://u:p@a.example" },
		"scope":    func(u *Upstream) { u.Scope = "all" },
		"pattern":  func(u *Upstream) { u.Allow = []string{"["} },
		"kind":     func(u *Upstream) { u.Auth.Kind = "basic" },
		"no scope": func(u *Upstream) { u.Auth.Kind = OAuth },
		"no auth":  func(u *Upstream) { u.Scope, u.Auth.Kind = UserScope, NoAuth },
		"format":   func(u *Upstream) { u.Auth.Format = "key" },
		"prefix":   func(u *Upstream) { u.Prefix = "a b" },
	} {
		u := good
		change(&u)
		if _, err := Check(u); err == nil {
			t.Errorf("%s: Check(%+v) takes it", name, u)
		}
	}
}
