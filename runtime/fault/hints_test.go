package fault

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
)

// A door's hint is that of the case, or else of the code, and names what is
// known.
func TestHintsOfADoor(t *testing.T) {
	door := Hints{
		"busy":     "{hint}, or stop it: stop {attempt}",
		"stopping": "show {attempt} in {folder}",
	}
	busy := New("busy", "attempt a1 is running", "wait for its end")
	more := map[string]string{"attempt": "of the door", "folder": "/f"}
	for name, c := range map[string]struct {
		fault *Fault
		more  map[string]string
		want  string
	}{
		"code":                  {busy, nil, "wait for its end, or stop it: stop ATTEMPT"},
		"value of the door":     {busy, more, "wait for its end, or stop it: stop of the door"},
		"value of the fault":    {busy.WithCase("stopping", "attempt", "a1"), more, "show a1 in /f"},
		"case beside the code":  {busy.WithCase("stopping"), nil, "show ATTEMPT in FOLDER"},
		"braces in a value":     {busy.WithCase("stopping", "attempt", "{folder}"), more, "show {folder} in /f"},
		"case that is not said": {busy.WithCase("other"), more, ""},
	} {
		if got, ok := door.Of(c.fault, c.more); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, ok, c.want)
		}
	}
	if got := Names(door["busy"]); !slices.Equal(got, []string{"hint", "attempt"}) {
		t.Errorf("Names = %q", got)
	}
}

// WithCase leaves the fault alone that it is called on, and what it adds is not for
// programs.
func TestACaseIsACopy(t *testing.T) {
	one := New("busy", "m", "h").WithCase("a", "x", "1")
	two := one.WithCase("b", "y", "2")
	if one.Case != "a" || !reflect.DeepEqual(one.Values, map[string]string{"x": "1"}) {
		t.Errorf("WithCase changed its fault: %+v", one)
	}
	if two.Key() != "b" || !reflect.DeepEqual(two.Values, map[string]string{"x": "1", "y": "2"}) {
		t.Errorf("the second case is %+v", two)
	}
	plain, err := json.Marshal(New("busy", "m", "h"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(two); err != nil || string(got) != string(plain) {
		t.Errorf("JSON of a case is %s, %v; want %s", got, err, plain)
	}
}
