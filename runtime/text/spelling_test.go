package text

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"index", "log_level", "max_answer_bytes", "name", "tools"}
	for word, want := range map[string]string{
		"log-levl": "log_level", "max_answer_byte": "max_answer_bytes", "tool": "tools", "nmae": "name",
		"idnex": "index", "lgo": "", "max_ans": "max_answer_bytes", "indx": "index", "x": "", "": "", "something_else": "", "names": "name",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"same", "same", 0}, {"ask", "aks", 1}, {"index", "idnex", 1}, {"ca", "abc", 3}} {
		if got := Edits(c.a, c.b); got != c.want {
			t.Errorf("Edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
