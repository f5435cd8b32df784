package language

import "testing"

func TestOfQuestion(t *testing.T) {
	for text, want := range map[string]Code{
		"Wie kann ich einen Schlüssel sperren, der gestohlen wurde?": German,
		"201 statt 200 zurückgeben, wenn das Item noch nicht da ist": German,
		"¿Cómo puedo limitar el tamaño de un archivo?":               Spanish,
		"Comment limiter la taille des fichiers que je reçois":       French,
		"如何回滚到 deployment readinessProbe 上一个版本":                      Chinese,
		"レート制限を変更する方法 max_requests_per_second":                       Japanese,
		"배포를 롤백하는 방법":                                                Korean,
		"Как можно ограничить размер файлов":                         Russian,
		"what is the limit of a request":                             English,
	} {
		if got, ok := OfQuestion(text); !ok || got != want {
			t.Errorf("OfQuestion(%q) = %q, %t; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", "rate limit", "max_requests_per_second", "de facto standard", "install El Capitan", "la carte", "and that was an error of die casting",
		"what does 依存関係 mean in the headings of the translated docs", "use kubectl exec -it pod -- sh -c 'de la'", "hashear y verificar",
	} {
		if got, ok := OfQuestion(text); ok && got != English {
			t.Errorf("OfQuestion(%q) = %q, want none or English", text, got)
		}
	}
}

func TestName(t *testing.T) {
	for c, want := range map[Code]string{English: "English", German: "German", Chinese: "Chinese", Norwegian: "Norwegian"} {
		if got := c.Name(); got != want {
			t.Errorf("Name of %q = %q, want %q", c, got, want)
		}
	}
}
