package embed

import (
	"slices"
	"strings"
	"testing"
)

func words(text string) []string {
	var out []string
	Words(text, func(word []byte, joined bool) {
		w := string(word)
		if joined {
			w = "+" + w
		}
		out = append(out, w)
	})
	return out
}

func TestWordsAreCutWhereCamelCaseSaysSo(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"  ... \n":                   "",
		"Roll back, now":             "roll back now",
		"ConfigMap":                  "config map +configmap",
		"parseURL":                   "parse url +parseurl",
		"HTTPServer":                 "http server +httpserver",
		"URLs":                       "urls",
		"two URLs here":              "two urls here",
		"URLsX":                      "ur ls x +urlsx",
		"iOS and IDs":                "i os +ios and ids",
		"base64Encode":               "base64 encode +base64encode",
		"A1B2C3":                     "a1b2c3",
		"v1alpha1":                   "v1alpha1",
		"snake_case-kebab.dot":       "snake case kebab dot",
		"aBcDeFgH":                   "a bc de fg h",
		"oneTwoThreeFour":            "one two three four +onetwothreefour",
		"don't":                      "don t",
		"café Über":                  "café über",
		"fooÉbar":                    "fooébar",
		"机器学习":                       "机器 器学 学习",
		"字":                          "字",
		"k8s集群 ok":                   "k8s 集群 ok",
		strings.Repeat("x", 40):      strings.Repeat("x", 40),
		strings.Repeat("x", 41):      "",
		strings.Repeat("ü", 20):      strings.Repeat("ü", 20),
		strings.Repeat("ü", 30):      "",
		"\xff\xfebad \xc3 bytes\x00": "bad bytes",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("Words(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestWordsOfAHugeRunAreBounded(t *testing.T) {
	if got := words(strings.Repeat("x", 1<<20)); len(got) != 0 {
		t.Errorf("Words(1 MiB of x) = %d words, want none", len(got))
	}
	if got := words(strings.Repeat("aB", 1<<16)); len(got) != 1<<16+1 || slices.ContainsFunc(got, func(w string) bool { return len(w) > 2 }) {
		t.Errorf("Words(aBaB...) = %d words, want %d short ones", len(got), 1<<16+1)
	}
}

func TestUnknownWordsAreCutIntoPieces(t *testing.T) {
	v := vocabulary(t, "config", "map", "configmap", "con", "a", "ab", "abc", "x", "##fig", "##f", "##ure", "##s", "7")
	for text, want := range map[string]string{
		"config":         "config",
		"ConfigMap":      "config map configmap",
		"MapConfig":      "map config", // the joined form is unknown
		"configure":      "config ##ure",
		"confs":          "con ##f ##s",
		"abs":            "a ##s", // a first piece of two letters is too little
		"zzconfig":       "##fig",
		"7":              "7",
		"8":              "",
		"12345":          "",
		"überconfig":     "",
		"q":              "",
		"x" + "qqqqqqqq": "x",
	} {
		var rows []uint16
		Words(text, func(word []byte, joined bool) { rows = v.AppendWord(rows, word, joined) })
		var got []string
		for _, r := range rows {
			got = append(got, v.Token(int(r)))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("rows of %q = %q, want %q", text, strings.Join(got, " "), want)
		}
	}
}

func TestEveryTokenHasItsRow(t *testing.T) {
	var tokens []string
	for i := range 20000 {
		tokens = append(tokens, strings.Repeat(string(rune('a'+i%26)), 1+i/26%7)+string(rune('a'+i/182%26))+string(rune('a'+i/4732)))
	}
	v := vocabulary(t, tokens...)
	for i, token := range tokens {
		if got := v.Row(token); got != i {
			t.Fatalf("Row(%q) = %d, want %d", token, got, i)
		}
	}
	if got := v.Row("no-such"); got != -1 {
		t.Errorf("Row(no-such) = %d, want -1", got)
	}
}

func TestNewVocabularyRefuses(t *testing.T) {
	for name, tokens := range map[string][]string{
		"empty token":  {"a", ""},
		"twice":        {"a", "b", "a"},
		"too long":     {strings.Repeat("a", 256)},
		"too many":     make([]string, 1<<16),
		"empty in one": {""},
	} {
		if _, err := NewVocabulary(tokens); err == nil {
			t.Errorf("NewVocabulary(%s) = nil error", name)
		}
	}
}

func vocabulary(t testing.TB, tokens ...string) *Vocabulary {
	t.Helper()
	v, err := NewVocabulary(tokens)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
