package manpage

import "testing"

func TestTextOfAManPageIsNoRequest(t *testing.T) {
	for text, want := range map[string]string{
		".so /etc/passwd": `\&.so /etc/passwd`,
		"a\n'br":          "a\n" + `\&'br`,
		`C:\n --x`:        `C:\en \-\-x`,
	} {
		if got := Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
}
