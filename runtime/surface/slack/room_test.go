package slack

import "testing"

// Everyone in the channel reads what is posted there, so a question of a project that one of
// them does not know of goes to its person only.
func TestAChannelGetsNoQuestionThatOneOfItsPeopleMayNotSee(t *testing.T) {
	o := &Options{Channel: "C0ALL", People: people()}
	for _, c := range []struct{ to, guest, room string }{
		{"", "", "C0ALL"}, {"ann", "", ann}, {"nobody", "", "C0ALL"},
		{"", "bob", ""}, {"nobody", "bob", ""}, {"ann", "bob", ann}, {"bob", "bob", ""},
	} {
		room, err := o.roomFor(c.to, func(principal string) (bool, error) { return principal != c.guest, nil })
		if err != nil || room != c.room {
			t.Errorf("to %q, and %q does not see the project: posted to %q, %v; want %q", c.to, c.guest, room, err, c.room)
		}
	}
}
