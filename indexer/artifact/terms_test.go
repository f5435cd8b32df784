package artifact

import (
	"slices"
	"strings"
	"testing"
)

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"Configuring the Retries":      "configur the retri",
		"CMFCVisualManager::OnDraw":    "cmfc visual manag +cmfcvisualmanag on draw +ondraw +cmfcvisualmanagerondraw",
		"snake_case":                   "snake case +snakecas",
		"--no-token":                   "no token +notoken",
		"C2065 error":                  "c2065 error",
		"getHTTPResponse":              "get http respons +gethttprespons",
		"REST APIs":                    "rest api",
		"v1.2.3":                       "v1 2 3 +v1.2.3",
		"user's guide":                 "user guid",
		"c++ and C# and f#":            "c +c++ and c +c# and f +f#",
		"日本文":                          "日 本 +日本 文 +本文",
		"Über Straße":                  "uber straße",
		"ConfigMap configmap":          "config map +configmap configmap",
		"e.g. this, that; (other)...":  "e g +eg this that other",
		"https://example.com/a/b.html": "https exampl com +examplecom a b html +bhtml",
		"":                             "",
		"   \t\n ":                     "",
		"привет мир":                   "привет мир",
		"a\x00b\xffc":                  "a b c",
	} {
		var got []string
		var a Analyzer
		for _, term := range a.Terms(text) {
			if term.Joined {
				got = append(got, "+"+term.Text)
			} else {
				got = append(got, term.Text)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("Terms(%q) = %q, want %q", text, s, want)
		}
	}
}

func TestTermsOfHostileTextStayBounded(t *testing.T) {
	for name, text := range map[string]string{
		"one long word": strings.Repeat("x", 1<<20),
		"camels":        strings.Repeat("aB", 1<<18),
		"connectors":    strings.Repeat("a_", 1<<18),
		"marks":         strings.Repeat("e\u0301", 1<<18),
		"cjk":           strings.Repeat("字", 1<<18),
	} {
		t.Run(name, func(t *testing.T) {
			var a Analyzer
			for _, term := range a.Terms(text) {
				if len(term.Text) > maxTermBytes || term.End > len(text) || term.Start > term.End {
					t.Fatalf("term of %d bytes at %d..%d", len(term.Text), term.Start, term.End)
				}
			}
		})
	}
}

// slowTerms is Terms without the short way for plain words.
func slowTerms(text string) []Term {
	var a Analyzer
	for i := 0; i < len(text); {
		class, size := classAt(text, i)
		switch class {
		case wordClass:
			i = a.compound(text, i)
		case cjkClass:
			i = a.cjk(text, i)
		default:
			i += size
		}
	}
	return a.terms
}

// checkTerms compares Terms with slowTerms, all of them and those wanted.
func checkTerms(t *testing.T, text string) {
	t.Helper()
	var a Analyzer
	all := slices.Clone(a.Terms(text))
	for _, term := range all {
		if term.Text == "" || term.Start < 0 || term.End > len(text) || term.Start >= term.End {
			t.Fatalf("Terms(%q) has %+v", text, term)
		}
	}
	if slow := slowTerms(text); !slices.Equal(all, slow) {
		t.Fatalf("Terms(%q) = %v\nthe long way gives %v", text, all, slow)
	}
	for _, one := range all[:min(len(all), 9)] {
		others := func(term Term) bool { return term.Text != one.Text }
		a.Wanted = new(Wanted)
		a.Wanted.Add(one.Text)
		for _, term := range all {
			if term.Text == one.Text {
				a.Wanted.AddBeginning(text[term.Start:term.End])
			}
		}
		got := slices.DeleteFunc(slices.Clone(a.Terms(text)), others)
		if want := slices.DeleteFunc(slices.Clone(all), others); !slices.Equal(got, want) {
			t.Fatalf("Terms(%q), %q wanted = %v, want %v", text, one.Text, got, want)
		}
	}
}

func TestThePlainWayIsTheLongWay(t *testing.T) {
	for _, text := range []string{
		"The end. the.end, the-end; the end", "c++ c# x+ f#x a-b a_ b", "cafe\u0301 caf\u00e9s the\u2019s it's its'", "APIs API HTTPServer aB a1B2",
		"x日y 日x", "a->b a::b a:b a: a", "1.2.3 v1.2 --flag -f", "word", "W", "",
	} {
		checkTerms(t, text)
	}
}

func FuzzTerms(f *testing.F) {
	f.Add("Über snake_case CMFC::OnDraw 日本 c++ user's")
	f.Add("The end. the.end, the-end; c# a-b")
	f.Fuzz(checkTerms)
}

func BenchmarkTerms(b *testing.B) {
	text := strings.Repeat("The deskhand index command turns a folder of markdown (see `--output`) into an index. ", 100)
	var a Analyzer
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		a.Terms(text)
	}
}
