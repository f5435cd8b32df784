package diff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shown returns text with the class of each coloured piece before it.
func shown(lines [][]token) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, t := range line {
			if t.class == "" {
				b.WriteString(t.text)
			} else {
				b.WriteString(t.class + "«" + t.text + "»")
			}
		}
	}
	return b.String()
}

func TestColours(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.go", "func Parse(s string) (int, error) { // `x`", "k«func» f«Parse»(s b«string») (b«int», b«error») { c«// `x`»"},
		{"a.go", "a := `raw \\\nsecond` + \"a\\\"b\" + 'c' // no\nif 0x1F", "a := s«`raw \\»\ns«second`» + s«\"a\\\"b\"» + s«'c'» c«// no»\nk«if» m«0x1F»"},
		{"a.go", "see := \"http://x\" /* a\nb */ x.y", "see := s«\"http://x\"» c«/* a»\nc«b */» x.y"},
		{"a.js", "const r = s.replace(/[`'/]/g, `a${b}\nc`) / 2 / 3", "k«const» r = s.replace(s«/[`'/]/»g, s«`a${b}»\ns«c`») / m«2» / m«3»"},
		{"a.ts", "@Injectable() export class Users {}", "f«@Injectable»() k«export» k«class» f«Users» {}"},
		{"a.py", "@app.get('/')\nasync def f(x: int) -> None:\n    \"\"\"Doc's\n    end\"\"\"\n    return r'a' # b", "f«@app».get(s«'/'»)\nk«async» k«def» f«f»(x: b«int») -> b«None»:\n    s«\"\"\"Doc's»\ns«    end\"\"\"»\n    k«return» s«r'a'» c«# b»"},
		{"a.rs", "fn f<'a>(s: &'a str) -> char { 'x' } // it's", "k«fn» f«f»<'a>(s: &'a b«str») -> b«char» { s«'x'» } c«// it's»"},
		{"a.rs", "let s = r#\"a \"b\" c\"#; let c = '\\n'; vec![1, 2.5]", "k«let» s = s«r#\"a \"b\" c\"#»; k«let» c = s«'\\n'»; b«vec!»[m«1», m«2.5»]"},
		{"a.sh", "echo \"$#\" ${#a} 'it # is' # yes\nfor f in *; do", "b«echo» s«\"$#\"» ${#a} s«'it # is'» c«# yes»\nk«for» f k«in» *; k«do»"},
		{"Dockerfile.dev", "FROM alpine\nRUN apk add git # no", "k«FROM» alpine\nk«RUN» apk k«add» git c«# no»"},
		{"a.yaml", "on: push # c\nname: it's a b\nurl: https://x\nok: true", "f«on»: push c«# c»\nf«name»: it's a b\nf«url»: https://x\nf«ok»: k«true»"},
		{"a.json", `{"a": "b", "c": [1, true]}`, `{f«"a"»: s«"b"», f«"c"»: [m«1», k«true»]}`},
		{"a.toml", "[x.y]\nkey-a = '1' # c", "[x.y]\nf«key-a» = s«'1'» c«# c»"},
		{"a.css", ".a { color: red; /* c */ margin: 1.5em }", ".a { f«color»: red; c«/* c */» f«margin»: m«1.5em» }"},
		{"a.html", "<!-- c -->\n<a href=\"x>y\" on>it's</a>", "c«<!-- c -->»\nf«<a» b«href»=s«\"x>y\"» b«on»f«>»it'sf«</a»f«>»"},
		{"a.sql", "SELECT 'it''s' FROM t -- c", "k«SELECT» s«'it'»s«'s'» k«FROM» t c«-- c»"},
		{"a.rb", "def ok?(a) = a =~ /it's/ # c", "k«def» f«ok?»(a) = a =~ s«/it's/» c«# c»"},
		{"a.php", "<?php $a = \"b\n\"; // c", "<?k«php» $a = s«\"b»\ns«\"»; c«// c»"},
		{"a.c", "#include <stdio.h>\nstruct node *n = NULL;", "k«#include» <stdio.h>\nk«struct» f«node» *n = b«NULL»;"},
		{"a.lua", "--[[ a\nb ]] local s = [[x]] -- c", "c«--[[ a»\nc«b ]]» k«local» s = s«[[x]]» c«-- c»"},
		{"a.tf", "resource \"a\" \"b\" {\n  count = 2\n}", "k«resource» s«\"a\"» s«\"b\"» {\n  f«count» = m«2»\n}"},
		{"a.md", "# T\nuse `a` and\n```go\nx\n```", "# T\nuse s«`a`» and\ns«```go»\ns«x»\ns«```»"},
		{"a.go", "x := 9é + 5€ + 1.5", "x := m«9é» + m«5»€ + m«1.5»"},
		{"a.html", "<größe maß='1'>5€</größe> <", "f«<größe» b«maß»=s«'1'»f«>»5€f«</größe»f«>» <"},
		{"crlf.go", "// a\r\nvar x\r\n", "c«// a\r»\nk«var» x\r\n"},
	} {
		if got := shown(coloured(c.name, []byte(c.text))); got != c.want {
			t.Errorf("%s: %s\n   got  %s\n   want %s", c.name, c.text, got, c.want)
		}
	}
	if coloured("a.unknown", []byte("x")) != nil || coloured("LICENSE", []byte("x")) != nil {
		t.Error("a file of no language has colours")
	}
}

func TestALanguageHasItsNamesAlone(t *testing.T) {
	for _, words := range []func(*language) string{func(l *language) string { return l.names }, func(l *language) string { return l.files }} {
		of := map[string]string{}
		for _, l := range known {
			for w := range strings.FieldsSeq(words(l)) {
				if w != strings.ToLower(w) || of[w] != "" {
					t.Errorf("%q of %s is not in lower case or belongs to %s too", w, l.names, of[w])
				}
				of[w] = l.names
			}
		}
	}
}

// A long file of any text is coloured in the time that it takes to read it a few times.
func TestAttackNoTextIsSlowToColour(t *testing.T) {
	for _, piece := range []string{"/*", "\"\\", "(/[", "(/", "<a \"", "<", "'", "`", "r#\"", "a:", "#", "\"\"\"", "''", "{-", "@", "0", "é"} {
		hostile := strings.Repeat(piece, mostColoured/4/len(piece))
		for _, name := range []string{"js", "python", "ruby", "rust", "html", "yaml"} { // everything that languages differ in
			l := ofName(name)
			began := time.Now()
			l.tokens(hostile)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%q in %s took %v", piece, l.names, took)
			}
		}
	}
}

// What is coloured is the text, in every language.
func FuzzColoursKeepTheText(f *testing.F) {
	f.Add("func x() { 'a' \"b /* ` <a b='c'> # \r\n\x00é")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range known {
			var lines []string
			for _, line := range l.tokens(text) {
				lines = append(lines, joined(line))
			}
			if got := strings.Join(lines, "\n"); got != text {
				t.Fatalf("%s: %q became %q", l.names, text, got)
			}
		}
	})
}

func BenchmarkColours(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("..", "..", "tasks", "land.go"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		coloured("land.go", data)
	}
}
