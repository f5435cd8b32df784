package language

import (
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

// Stemming returns the language whose rules stem the words on a page in c. On Chinese,
// Japanese and Korean pages, words in Latin letters are stemmed as English.
func (c Code) Stemming() Code {
	switch c {
	case Chinese, Japanese, Korean:
		return English
	}
	return c
}

// Stem returns the stem of a lower-case word by the Snowball rules of c. It does not
// change words shorter than three bytes or words that do not begin with a letter. In
// English, it also does not change words that begin with a non-ASCII letter.
func (c Code) Stem(word string) string {
	first, _ := utf8.DecodeRuneInString(word)
	if len(word) < 3 || c == English && (first < 'a' || first > 'z') || !unicode.IsLetter(first) {
		return word
	}
	env := snowballstem.NewEnv(word)
	switch c.Stemming() {
	case English:
		english.Stem(env)
	case Arabic:
		arabic.Stem(env)
	case Danish:
		danish.Stem(env)
	case Dutch:
		dutch.Stem(env)
	case Finnish:
		finnish.Stem(env)
	case French:
		french.Stem(env)
	case German:
		german.Stem(env)
	case Hungarian:
		hungarian.Stem(env)
	case Italian:
		italian.Stem(env)
	case Norwegian:
		norwegian.Stem(env)
	case Portuguese:
		portuguese.Stem(env)
	case Romanian:
		romanian.Stem(env)
	case Russian:
		russian.Stem(env)
	case Spanish:
		spanish.Stem(env)
	case Swedish:
		swedish.Stem(env)
	case Tamil:
		tamil.Stem(env)
	case Turkish:
		turkish.Stem(env)
	}
	return env.Current()
}

// Sample contains words in every language that Stem supports. With it, a build detects
// whether the previous artifact was built with different stemming rules.
const Sample = `configurations configured; Konfigurationen konfigurierte Straßenbäume; configuraciones configurado
	configurations configurées; configurazioni configurato; configurações configurado; configuraties geconfigureerde;
	konfigurationer konfigurerade; konfigurationerne konfigurerede; konfigurasjonene konfigurerte; asetuksissamme määritelty;
	beállításaink beállítottuk; configurările configurate; yapılandırmalarımız yapılandırılmış; настройками настроенные;
	الإعدادات المستخدمين; அமைப்புகளில் பயனர்களுக்கு`
