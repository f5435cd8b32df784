package contract

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

func TestFieldsKeepsOrderAndText(t *testing.T) {
	got, err := Fields([]byte(` { "b" : 1.50 ,"a":{"x":[1,{"y":"}"}]},"\u0063":"\"]" , "d":null,"e":[ ] ,"f":{}, "":true } `))
	want := []Field{
		{"b", json.RawMessage(`1.50`)}, {"a", json.RawMessage(`{"x":[1,{"y":"}"}]}`)}, {"c", json.RawMessage(`"\"]"`)},
		{"d", json.RawMessage(`null`)}, {"e", json.RawMessage(`[ ]`)}, {"f", json.RawMessage(`{}`)}, {"", json.RawMessage(`true`)},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Fields = %q, %v; want %q", got, err, want)
	}
}

func TestFieldsNamesWhatIsWrong(t *testing.T) {
	for data, want := range map[string]string{
		``:                    "invalid_json",
		`{`:                   "invalid_json",
		"\ufeff{}":            "invalid_json",
		`{"a":1}{"b":2}`:      "invalid_json",
		`{"a":01}`:            "invalid_json",
		"{\"a\":\"\xc3\"}":    "invalid_json",
		`[]`:                  "not_object",
		`null`:                "not_object",
		`{"a":1,"a":1}`:       "duplicate_field",
		`{"a":1,"\u0061":{}}`: "duplicate_field",
	} {
		_, err := Fields([]byte(data))
		if f := fault.Of(err); f == nil || f.Code != want {
			t.Errorf("Fields(%q): %v, want code %s", data, err, want)
		}
	}
}

// Whatever Fields accepts is an object that encoding/json reads the same way.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":[1,{"b":"c,]}"}],"d":-1e5}`, `{"\\\"":"\\"}`, `{"a" :1 , "b": [ ]}`, `[`, `{"a":{"a":1,"a":2}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fields, err := Fields(data)
		if err != nil {
			if fault.Of(err) == nil {
				t.Fatalf("Fields(%q): %v is not a fault", data, err)
			}
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("Fields(%q) accepted it, encoding/json says %v", data, err)
		}
		if len(want) != len(fields) {
			t.Fatalf("Fields(%q) = %q, want %d fields", data, fields, len(want))
		}
		for _, field := range fields {
			if string(want[field.Name]) != string(field.Value) {
				t.Errorf("Fields(%q): %q is %q, want %q", data, field.Name, field.Value, want[field.Name])
			}
			repeatedBelow(field.Value)
		}
	})
}

func TestWithSetsOneMemberInItsPlace(t *testing.T) {
	for name, c := range map[string]struct{ raw, value, want string }{
		"in its place": {`{"b":1, "a":2,"c":3}`, `"x"`, `{"b":1,"a":"x","c":3}`},
		"at the end":   {`{"b":1}`, `true`, `{"b":1,"a":true}`},
		"empty":        {`{}`, `[]`, `{"a":[]}`},
		"taken out":    {`{"b":1,"a":2}`, ``, `{"b":1}`},
		"not there":    {`{"b":1}`, ``, `{"b":1}`},
	} {
		var value json.RawMessage
		if c.value != "" {
			value = json.RawMessage(c.value)
		}
		if got, err := With(json.RawMessage(c.raw), "a", value); err != nil || string(got) != c.want {
			t.Errorf("%s: With(%s, a, %s) = %s, %v; want %s", name, c.raw, c.value, got, err, c.want)
		}
	}
	for _, raw := range []string{`[]`, `{"a":1,"a":2}`, `{`} {
		if got, err := With(json.RawMessage(raw), "a", nil); err == nil {
			t.Errorf("With(%s) = %s, want an error", raw, got)
		}
	}
}
