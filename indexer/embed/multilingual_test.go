package embed

import (
	"bytes"
	"slices"
	"testing"

	"github.com/deskhand/deskhand/indexer/embed/model"
	"github.com/deskhand/deskhand/indexer/language"
)

func multilingual(t testing.TB) *Static {
	t.Helper()
	e, err := Open(Multilingual)
	if err != nil {
		t.Fatalf("Open(%q) = %v", Multilingual, err)
	}
	return e.(*Static)
}

func TestTheAddedWordsAreWhole(t *testing.T) {
	m, err := Parse(model.Added)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Verify(); err != nil {
		t.Errorf("Verify() = %v", err)
	}
	if n := len(model.Added); n > 4.8e6 {
		t.Errorf("the added words have %d bytes, want at most 4,800,000", n)
	}
}

func TestTheMultilingualModelReadsEnglishAsTheBuiltInOne(t *testing.T) {
	both, own := multilingual(t), builtin(t)
	for _, text := range []string{"How do I delete a user's account?", "retry with back-off: set max_retries=3, see parseURLs",
		"Upload files with `UploadFile` and mount the volume"} {
		if !slices.Equal(both.Embed(text), own.Embed(text)) {
			t.Errorf("the vectors of %q differ", text)
		}
	}
	if both.Name() == own.Name() {
		t.Errorf("both models are called %s", own.Name())
	}
}

func TestAQuestionFindsItsAnswerInAnotherLanguage(t *testing.T) {
	m := multilingual(t)
	answers := []string{"Delete a user account", "Encrypt the connection with a certificate", "Increase the memory limit of the process",
		"Install the package from source", "Roll back to an earlier version of the database"}
	for i, questions := range [][]string{
		{"ein Benutzerkonto löschen", "eliminar una cuenta de usuario", "ユーザーアカウントを削除する", "删除用户帐户"},
		{"die Verbindung mit einem Zertifikat verschlüsseln", "cifrar la conexión con un certificado", "証明書で接続を暗号化する", "使用证书加密连接"},
		{"mehr Speicher für den Prozess erlauben", "aumentar el límite de memoria del proceso", "プロセスのメモリ制限を増やす", "增加进程的内存限制"},
		{"das Paket aus dem Quellcode installieren", "instalar el paquete desde el código fuente", "ソースからパッケージをインストールする", "从源代码安装软件包"},
		{"zu einer früheren Version der Datenbank zurückkehren", "volver a una versión anterior de la base de datos", "データベースを以前のバージョンに戻す", "将数据库回滚到早期版本"},
	} {
		for _, question := range questions {
			v := m.Embed(question)
			best, nearest := -1, -1.0
			for j, answer := range answers {
				if c := cosine(v, m.Embed(answer)); c > nearest {
					best, nearest = j, c
				}
			}
			if best != i {
				t.Errorf("nearest to %q is %q, want %q", question, answers[best], answers[i])
			}
		}
	}
}

func TestLanguagesOfTheModels(t *testing.T) {
	for _, c := range []struct {
		model    *Static
		language language.Code
		want     bool
	}{
		{builtin(t), language.English, true}, {builtin(t), language.German, false},
		{multilingual(t), language.English, true}, {multilingual(t), language.German, true}, {multilingual(t), language.French, false},
	} {
		if got := c.model.Speaks(c.language); got != c.want {
			t.Errorf("Speaks(%s) = %t, want %t", c.language, got, c.want)
		}
	}
}

func TestAnIndexStoresTheNameOfTheMultilingualModelAlone(t *testing.T) {
	m := multilingual(t)
	if w := Weights(m); w != nil {
		t.Errorf("Weights() has %d bytes, want none", len(w))
	}
	got, err := Reopen(m.Name(), nil)
	if err != nil || got != Embedder(m) {
		t.Errorf("Reopen(%s) = %v, %v", m.Name(), got, err)
	}
}

func TestJoinedVocabulary(t *testing.T) {
	known, err := NewVocabulary([]string{"die", "server", "##s"})
	if err != nil {
		t.Fatal(err)
	}
	added, err := NewVocabulary([]string{"und", "die"})
	if err != nil {
		t.Fatal(err)
	}
	both, err := known.With(added)
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]int{"server": 1, "##s": 2, "und": 3, "die": 4, "der": -1} {
		if got := both.Row(token); got != want {
			t.Errorf("Row(%q) = %d, want %d", token, got, want)
		}
	}
	if got := both.Token(2); got != "##s" {
		t.Errorf("Token(2) = %q", got)
	}
	many := make([]string, maxRows)
	for i := range many {
		many[i] = string(rune(0x4e00+i%20000)) + string(rune(0x4e00+i/20000))
	}
	if full, err := NewVocabulary(many); err != nil {
		t.Error(err)
	} else if _, err := full.With(added); err == nil {
		t.Error("a vocabulary of 65,537 rows is accepted")
	}
}

func TestOtherDimensionsAreNotJoined(t *testing.T) {
	v, err := NewVocabulary([]string{"und"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := Encode(v, 8, make([]float32, 8))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(bytes.Clone(data))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := builtin(t).With(m); err == nil {
		t.Error("a model of 8 dimensions is joined with one of 256")
	}
}
