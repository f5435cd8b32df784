package language

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for tag, want := range map[string]string{
		"de": "de", "DE": "de", "de-AT": "de", "zh_Hans": "zh", "zh-cn": "zh", "pt-BR": "pt", "German": "de", "en-US": "en",
		"english": "en", "nb": "no", "zh-Hant-TW": "zh", "es-419": "es", " ja ": "ja",
		"": "", "python": "", "go": "", "de-": "", "de-x": "", "german-shepherd": "", "it-department": "", "to": "",
	} {
		c, ok := Parse(tag)
		got := ""
		if ok {
			got = c.String()
		}
		if got != want {
			t.Errorf("Parse(%q) = %q, want %q", tag, got, want)
		}
	}
}

func TestOfPath(t *testing.T) {
	for page, want := range map[string]string{
		"de/guide.md": "de", "docs/ja/guide.md": "ja", "docs/zh-cn/a/b.md": "zh", "i18n/pt_BR/current/a.md": "pt",
		"README.zh-CN.md": "zh", "guide.de.md": "de", "content/en/docs/de.md": "en", "de/en/x.md": "en",
		"guide.md": "", "src/german/x.md": "", "v1.2/x.md": "", "release-1.it.notes/x.md": "",
	} {
		c, ok := OfPath(page)
		got := ""
		if ok {
			got = c.String()
		}
		if got != want {
			t.Errorf("OfPath(%q) = %q, want %q", page, got, want)
		}
	}
}

func TestDetect(t *testing.T) {
	const german = "# Abhängigkeiten\n\nWenn Sie eine Abhängigkeit mit `Depends` deklarieren, wird sie für jede Anfrage nur einmal " +
		"ausgeführt, auch wenn sie von mehreren Funktionen benutzt wird.\n"
	const english = "# Dependencies\n\nIf you declare a dependency with `Depends`, it is called once for each request, even if several functions use it.\n"
	for name, c := range map[string]struct {
		path, text string
		want       Code
	}{
		"German":                      {"a.md", german, German},
		"English":                     {"a.md", english, English},
		"English in a German folder":  {"de/a.md", english, English},
		"German in an English folder": {"en/a.md", german, German},
		"Spanish": {"a.md", "Cuando declaras una dependencia, se ejecuta una sola vez por cada petición, también si la usan varias funciones. " +
			"Puedes ver cómo en esta página.\n", Spanish},
		"Portuguese": {"a.md", "Quando você declara uma dependência, ela é executada uma vez por requisição, também se não for usada. Isso está na página " +
			"em que você pode ver como são as opções.\n", Portuguese},
		"French":   {"a.md", "Lorsque vous déclarez une dépendance, elle est appelée une fois pour chaque requête, même si plusieurs fonctions ne sont pas dans la page.\n", French},
		"Dutch":    {"a.md", "Als je een afhankelijkheid declareert, wordt deze voor elk verzoek maar één keer aangeroepen, ook als het door meer functies van de app wordt gebruikt.\n", Dutch},
		"Danish":   {"a.md", "Når du skal bruge en afhængighed, bliver den kun kaldt én gang, også hvis den findes ved flere funktioner. Hvordan og hvad det er, kan du se af listen.\n", Danish},
		"Russian":  {"a.md", "Если вы объявите зависимость, она будет вызвана один раз для каждого запроса, также если её используют и другие функции, что можно увидеть в списке.\n", Russian},
		"Japanese": {"a.md", "依存関係は `Depends` で宣言します。リクエストごとに一度だけ実行されます。\n", Japanese},
		"Chinese":  {"a.md", "使用 `Depends` 声明依赖项。每个请求只执行一次。\n", Chinese},
		"Korean":   {"a.md", "`Depends`로 의존성을 선언합니다. 요청마다 한 번만 실행됩니다.\n", Korean},
		"a short page in a folder of its language": {"de/about.md", "# Über uns\n\nMehr über FastAPI und sein Design.\n", German},
		"a short page elsewhere":                   {"about.md", "# Über uns\n\nMehr über FastAPI und sein Design.\n", English},
		"a folder that only looks like a language": {"it/backup.md", english, English},
		"names with Portuguese particles":          {"authors.md", strings.Repeat("* Maria da Silva do Carmo <m@da.de>\n* José de Souza dos Santos\n", 20), English},
		"English with a quote in Japanese":         {"a.md", english + english + "The heading 依存関係 means dependencies.\n", English},
		"German around much code": {"a.md", german + "\n```python\n" + strings.Repeat("if this is not the value that you want then use that\n", 200) +
			"```\n", German},
		"empty": {"de/a.md", "", English},
	} {
		if got := Detect(c.path, []byte(c.text)); got != c.want {
			t.Errorf("%s: Detect = %q, want %q", name, got, c.want)
		}
	}
}

func TestStem(t *testing.T) {
	for _, c := range []struct {
		language Code
		a, b     string // have the same stem
	}{
		{English, "retries", "retry"}, {German, "konfigurationen", "konfiguration"}, {Spanish, "configuraciones", "configuración"},
		{French, "configurations", "configuration"}, {Italian, "configurazioni", "configurazione"},
		{Portuguese, "configurações", "configuração"}, {Dutch, "afhankelijkheden", "afhankelijkheid"},
		{Swedish, "inställningar", "inställning"}, {Danish, "indstillinger", "indstilling"}, {Norwegian, "innstillinger", "innstilling"},
		{Finnish, "asetukset", "asetuksen"}, {Hungarian, "beállítások", "beállítás"}, {Romanian, "configurațiile", "configurațiilor"},
		{Russian, "настройками", "настройки"}, {Turkish, "ayarlar", "ayar"}, {Arabic, "الكتاب", "كتاب"},
		{Japanese, "retries", "retry"},
	} {
		if a, b := c.language.Stem(c.a), c.language.Stem(c.b); a != b || a == "" {
			t.Errorf("%s: Stem(%q) = %q, Stem(%q) = %q; want the same", c.language, c.a, a, c.b, b)
		}
	}
	for _, word := range []string{"", "a", "12", "日本"} {
		if got := German.Stem(word); got != word {
			t.Errorf("Stem(%q) = %q, want it as it is", word, got)
		}
	}
}

func FuzzStemOfEveryLanguage(f *testing.F) {
	for word := range strings.FieldsSeq(Sample) {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if len(word) > 64 {
			t.Skip("an analyzer cuts words at 64 bytes")
		}
		for _, c := range codes {
			c.Stem(word)
		}
	})
}

func TestFunctionWordsFit(t *testing.T) {
	for word := range functionWords() {
		if len(word) > maxFunctionWord || word != strings.ToLower(word) {
			t.Errorf("%q is in capitals or has more than %d bytes: it is never found", word, maxFunctionWord)
		}
	}
}
