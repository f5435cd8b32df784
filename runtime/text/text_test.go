package text

import (
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

func TestTextsAreShortened(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 5, ""}, {"harbour", 7, "harbour"}, {"harbour", 6, "harbo…"}, {"äöüäöü", 6, "äöüäöü"}, {"äöüäöü", 5, "äöüä…"},
		{"to the pier", 4, "to…"}, {"harbour", 1, "…"},
	} {
		if got := Shorten(c.s, c.n); got != c.want || utf8.RuneCountInString(got) > max(c.n, 0) {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"pier", 4, "pier"}, {"pier", 3, "pie..."}, {"aäb", 2, "a..."}, {"ä", 1, "..."}, {"\xff\xff", 1, "\xff..."}} {
		if got := Excerpt(c.s, c.n); got != c.want {
			t.Errorf("Excerpt(%q, %d) = %q, want %q", c.s, c.n, got, c.want)
		}
	}
}

func TestTextsAreMadePlain(t *testing.T) {
	if got := OneLine(" a\t b\r\n\nc "); got != "a b c" {
		t.Errorf("OneLine = %q", got)
	}
	for s, want := range map[string]string{
		"a\tb\nc":                       "a\tb\nc",
		"a\r\nb\r":                      "a\nb",
		"100%\rdone":                    "100%\ufffddone",
		"\x1b[31mred\a\x7f\u009b":       "\ufffd[31mred\ufffd\ufffd\ufffd",
		"a\u202eb\u202cc\u2066d\u2069e": "a\ufffdb\ufffdc\ufffdd\ufffde",
		"שלום, مرحبا, 👩‍🚀":              "שלום, مرحبا, 👩‍🚀",
	} {
		if got := Plain(s); got != want {
			t.Errorf("Plain(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestATailHasTheEnd(t *testing.T) {
	tail := &Tail{Max: 8}
	for _, s := range []string{"first\n", "säcond\n", "ö!\n\n"} {
		if n, err := tail.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if got := tail.String(); got != "nd\nö!" {
		t.Errorf("the tail is %q", got)
	}
	if got := tail.LastLine(); got != "ö!" {
		t.Errorf("the last line is %q", got)
	}
	if got := (&Tail{Max: 2}); got.String() != "" || got.LastLine() != "" || (*Tail)(nil).String() != "" {
		t.Errorf("an empty tail says %q", got)
	}
	cut := &Tail{Max: 3}
	cut.Write([]byte("aäö"))
	if got := cut.String(); got != "ö" {
		t.Errorf("a cut character is kept: %q", got)
	}
	var all sync.WaitGroup
	wide := &Tail{}
	for range 8 {
		all.Go(func() {
			for range 100 {
				wide.Write([]byte(strings.Repeat("x", 100)))
			}
		})
	}
	all.Wait()
	if got := len(wide.String()); got != 2<<10 {
		t.Errorf("%d bytes are kept, want 2 KiB", got)
	}
}
