package text

import "testing"

func TestShellWords(t *testing.T) {
	for word, want := range map[string]string{"": "''", "/src/shop": "/src/shop", "/my shop": "'/my shop'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "ü": "'ü'"} {
		if got := ShellWord(word); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", word, got, want)
		}
	}
}
