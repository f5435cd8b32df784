package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

func TestFormsOfUpstreamsBecomeQuestions(t *testing.T) { // I-010
	for name, c := range map[string]struct {
		schema string
		kind   elicit.Kind
		check  func(elicit.Question) bool
	}{
		"text": {`{"type":"string","title":"T","description":"D","minLength":1,"maxLength":9,"format":"email"}`, elicit.Text, func(q elicit.Question) bool {
			return q.Title == "T" && q.Message == "D" && *q.Max == 9 && q.Format == elicit.Email
		}},
		"number":          {`{"type":"number","minimum":1.5}`, elicit.Number, func(q elicit.Question) bool { return *q.Min == 1.5 && q.Message == "f" }},
		"integer":         {`{"type":"integer","default":3}`, elicit.Integer, func(q elicit.Question) bool { return q.Default.Number == 3 }},
		"boolean":         {`{"type":"boolean","default":true}`, elicit.Boolean, func(q elicit.Question) bool { return q.Default.Boolean }},
		"enum with names": {`{"type":"string","enum":["a","b"],"enumNames":["A","B"]}`, elicit.SingleSelect, func(q elicit.Question) bool { return q.Options[1].Label == "B" && !q.AllowFreeform }},
		"titled":          {`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`, elicit.SingleSelect, func(q elicit.Question) bool { return q.Options[0].ID == "a" }},
		"list":            {`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"maxItems":1}`, elicit.MultiSelect, func(q elicit.Question) bool { return *q.Max == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := questionsOf(json.RawMessage(`{"type":"object","properties":{"f":` + c.schema + `},"required":["f"]}`))
			if err != nil || len(got) != 1 || got[0].Kind != c.kind || !got[0].Required || !c.check(got[0]) {
				t.Errorf("questionsOf(%s) = %+v, %v", c.schema, got, err)
			}
		})
	}
}

func TestFormsThatAreNotFlatAreRefused(t *testing.T) { // I-049
	for _, schema := range []string{`[]`, `{"type":"string"}`, `{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `{"type":"object","properties":{"a":{"anyOf":[]}}}`, `{"type":"object","properties":[]}`} {
		if got, err := questionsOf(json.RawMessage(schema)); err == nil {
			t.Errorf("questionsOf(%s) = %+v, want an error", schema, got)
		}
	}
}

func FuzzQuestionsOf(f *testing.F) {
	f.Add(askSchema)
	f.Add(`{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]},"default":["x"]}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		got, err := questionsOf(json.RawMessage(schema))
		if err != nil {
			return
		}
		for _, q := range got {
			if _, known := elicit.ParseKind(string(q.Kind)); !known {
				t.Errorf("questionsOf(%s) has a question of kind %q", schema, q.Kind)
			}
		}
	})
}

func TestBytesOfValuesAreFoundAgain(t *testing.T) {
	var o originals
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
		var o originals
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
