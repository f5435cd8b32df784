package search

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// slowOneLine is appendOneLine byte by byte.
func slowOneLine(line, text string) string {
	for _, c := range []byte(text) {
		if strings.IndexByte(" \n\t\r", c) < 0 {
			line += string([]byte{c})
		} else if line != "" && line[len(line)-1] != ' ' {
			line += " "
		}
	}
	return line
}

func checkOneLine(t *testing.T, line, text string) {
	t.Helper()
	line = slowOneLine("", line)
	if got, want := string(appendOneLine([]byte(line), []byte(text))), slowOneLine(line, text); got != want {
		t.Errorf("appendOneLine(%q, %q) = %q, want %q", line, text, got, want)
	}
	for i, c := range appendOneLine(nil, []byte(text)) {
		if at := placeIn([]byte(text), i); at >= len(text) || c != ' ' && text[at] != c {
			t.Errorf("placeIn(%q, %d) = %d, where %q is not", text, i, at, c)
		}
	}
}

func TestALineHasSingleSpacesWhereverTheTextHasWhiteSpace(t *testing.T) {
	for _, line := range []string{"", "x", "x "} {
		for n := range 20 {
			word := strings.Repeat("a", n)
			for _, space := range []string{" ", "  ", "\n", " \n", "\n\n    ", "\t", "\r\n", "\x00", "\xff \x80", "é "} {
				checkOneLine(t, line, word+space+"b c d e f g h"+space+word+space)
			}
		}
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("a ", "one two  three\nfour\tfive  ")
	f.Fuzz(checkOneLine)
}

func TestASnippetHasAsManyCharactersOfAnyScript(t *testing.T) {
	chinese := strings.Repeat("集群中的每个节点都会运行一个代理", 60) // sixteen characters, without a space
	english := strings.Repeat("every node of the cluster has an agent ", 60)
	for name, c := range map[string]struct{ body, query string }{
		"Chinese":                {chinese + "回滚上一个版本" + chinese, "回滚"},
		"Chinese, at the end":    {chinese + "回滚上一个版本", "回滚"},
		"Chinese, at the start":  {"回滚上一个版本" + chinese, "回滚"},
		"Japanese":               {strings.Repeat("各ノードではエージェントが動く", 60) + "前のバージョンへロールバックする" + strings.Repeat("各ノードではエージェントが動く", 60), "ロールバック"},
		"emoji":                  {strings.Repeat("🚀🧪", 400) + " rollback " + strings.Repeat("🚀🧪", 400), "rollback"},
		"accents":                {strings.Repeat("é à ü ", 300) + "rollback " + strings.Repeat("é à ü ", 300), "rollback"},
		"English":                {english + "rollback " + english, "rollback"},
		"English with wide gaps": {strings.ReplaceAll(english, " ", "          ") + "rollback " + english, "rollback"},
	} {
		t.Run(name, func(t *testing.T) {
			engine, err := OverTexts([]Text{{Path: "a.md", Heading: "A", Body: c.body}, {Path: "b.md", Heading: "B", Body: "something else"}})
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			page, err := engine.Search(t.Context(), Query{Text: c.query, By: Words})
			if err != nil || len(page.Hits) == 0 {
				t.Fatalf("%+v, %v", page, err)
			}
			s := page.Hits[0].Snippet
			shown := utf8.RuneCountInString(strings.NewReplacer("**", "", "...", "").Replace(s))
			if shown < snippetLength-50 || shown > snippetLength+50 || !strings.Contains(s, "**") || strings.ContainsRune(s, utf8.RuneError) {
				t.Errorf("%d characters: %q", shown, s)
			}
		})
	}
}

func TestCharactersThatNobodySeesCutNoQuery(t *testing.T) {
	engine, err := OverTexts([]Text{{Path: "a.md", Heading: "A", Body: "The deployment controller."}, {Path: "b.md", Heading: "B", Body: "something else"}})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	page, err := engine.Search(t.Context(), Query{Text: "\ufeffdeploy\u00adment cont\u2060roller", By: Words})
	if err != nil || len(page.Hits) != 1 || page.Hits[0].Path != "a.md" || !strings.Contains(page.Hits[0].Snippet, "**deployment controller**") {
		t.Errorf("%+v, %v", page, err)
	}
}

// The window is as long in every script: what is 200 characters apart is in one.
func TestTheBestWindowIsMeasuredInCharacters(t *testing.T) {
	for name, filler := range map[string]string{"English": "word ", "accents": "é à ü ", "Chinese": "集群中的节点", "emoji": "🚀 "} {
		between := strings.Repeat(filler, 150/utf8.RuneCountInString(filler))
		far := strings.Repeat(filler, 400/utf8.RuneCountInString(filler))
		body := "first " + far + " quagga " + between + " zebra " + far
		engine, err := OverTexts([]Text{{Path: "a.md", Heading: "A", Body: body}, {Path: "b.md", Heading: "B", Body: "something else"}})
		if err != nil {
			t.Fatal(err)
		}
		page, err := engine.Search(t.Context(), Query{Text: "quagga zebra first", By: Words})
		engine.Close()
		if err != nil || len(page.Hits) == 0 {
			t.Fatalf("%s: %+v, %v", name, page, err)
		}
		if s := page.Hits[0].Snippet; !strings.Contains(s, "**quagga**") || !strings.Contains(s, "**zebra**") {
			t.Errorf("%s: two words 150 characters apart are not in the snippet %q", name, s)
		}
	}
}

func TestAnEmojiIsNotCut(t *testing.T) {
	for _, s := range []string{"👩\u200d👩\u200d👧", "👍🏽", "e\u0301", "❤\ufe0f", "あ"} {
		line := []byte(strings.Repeat("x", 50) + s + strings.Repeat("y", 50))
		for i := 51; i < 50+len(s); i++ {
			if at := wordStart(line, i); at != 50 {
				t.Errorf("%q is cut at byte %d", s, at-50)
			}
		}
	}
}

// The ranker does not act on these questions, whose words find their section.
func TestASnippetBeginsAtItsRow(t *testing.T) {
	filler := strings.Repeat("and so on, as the manual says, ", 8)
	engine := engine(t, nil, file{path: "a.md", text: "# Options\n\nThe options of the server:\n\n| Option | Meaning |\n| --- | --- |\n" +
		"| `--quiet` | prints nothing |\n| `--port` | the number that the quagga listens on |\n| `--retry` | " + filler + " how often the zebra is asked again |\n" +
		"\n- " + filler + "\n- Where a gazelle grazes.\n\n" + filler + "\nIn the evening, when it gets dark in the long valley behind the hills\nof the north, an okapi drinks.\n\n" + filler},
		file{path: "b.md", text: "# B\n\nSomething else.\n"})
	for query, want := range map[string]string{
		"quagga":  "...--port the number that the **quagga**",
		"zebra":   "...on, as the manual says, how often the **zebra** is asked",
		"gazelle": "...Where a **gazelle** grazes.",
		"okapi":   "...valley behind the hills of the north, an **okapi** drinks.",
		"evening": "...In the **evening**, when",
	} {
		page, err := engine.Search(t.Context(), Query{Text: query, By: Words})
		if err != nil || len(page.Hits) == 0 {
			t.Fatalf("%s: %+v, %v", query, page, err)
		}
		if s := page.Hits[0].Snippet; !strings.HasPrefix(s, want) {
			t.Errorf("Search(%s) has the snippet %q, want %q at its beginning", query, s, want)
		}
	}
}
