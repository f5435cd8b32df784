// Package language detects the language of a page and stems its words. It supports a
// limited number of languages. All other languages are treated as English, the
// language of most documentation.
package language

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Code is a language's ISO 639-1 code in lower case. The zero value is English, which
// also represents all unsupported languages.
type Code string

// The supported languages.
const (
	English    Code = ""
	Arabic     Code = "ar"
	Chinese    Code = "zh"
	Danish     Code = "da"
	Dutch      Code = "nl"
	Finnish    Code = "fi"
	French     Code = "fr"
	German     Code = "de"
	Hungarian  Code = "hu"
	Italian    Code = "it"
	Japanese   Code = "ja"
	Korean     Code = "ko"
	Norwegian  Code = "no"
	Portuguese Code = "pt"
	Romanian   Code = "ro"
	Russian    Code = "ru"
	Spanish    Code = "es"
	Swedish    Code = "sv"
	Tamil      Code = "ta"
	Turkish    Code = "tr"
)

// codes maps tags, folder names and English names to languages.
var codes = map[string]Code{
	"en": English, "ar": Arabic, "zh": Chinese, "cn": Chinese, "da": Danish, "nl": Dutch, "fi": Finnish, "fr": French,
	"de": German, "hu": Hungarian, "it": Italian, "ja": Japanese, "jp": Japanese, "ko": Korean, "no": Norwegian,
	"nb": Norwegian, "nn": Norwegian, "pt": Portuguese, "ro": Romanian, "ru": Russian, "es": Spanish, "sv": Swedish,
	"ta": Tamil, "tr": Turkish,
	"english": English, "arabic": Arabic, "chinese": Chinese, "danish": Danish, "dutch": Dutch, "finnish": Finnish,
	"french": French, "german": German, "hungarian": Hungarian, "italian": Italian, "japanese": Japanese,
	"korean": Korean, "norwegian": Norwegian, "portuguese": Portuguese, "romanian": Romanian, "russian": Russian,
	"spanish": Spanish, "swedish": Swedish, "tamil": Tamil, "turkish": Turkish,
}

// All returns the supported languages in order. English is the first.
func All() []Code {
	return slices.Compact(slices.Sorted(maps.Values(codes)))
}

// String returns the language code, which is "en" for English.
func (c Code) String() string {
	if c == English {
		return "en"
	}
	return string(c)
}

// Parse parses a language tag (de, de-AT, zh_Hans, pt-BR) or the English name of a
// language, ignoring case. ok is false if the language is not supported.
func Parse(tag string) (c Code, ok bool) {
	tag = strings.ToLower(strings.TrimSpace(tag))
	if c, ok = codes[tag]; ok {
		return c, true
	}
	main, region, cut := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-")
	if !cut || !isSubtag(region) {
		return English, false
	}
	c, ok = codes[main]
	return c, ok && len(main) == 2
}

// isSubtag reports whether s, the part of a tag after the language, is a region or
// script: two to four letters, or three digits.
func isSubtag(s string) bool {
	s, _, _ = strings.Cut(s, "-")
	if len(s) < 2 || len(s) > 4 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// OfPath returns the language that a page's path claims. The claim is the suffix of the
// file name (guide.ja.md, README.zh-CN.md). If there is no such suffix, it is the
// nearest folder whose name is a two-letter tag, with or without a region (de/, zh-cn/,
// i18n/pt_BR/). ok is false if there is no claim. A claim is only a hint, because it/
// may be the folder of an IT department.
func OfPath(page string) (c Code, ok bool) {
	name := strings.TrimSuffix(path.Base(page), path.Ext(page))
	if i := strings.LastIndexAny(name, "."); i >= 0 {
		if c, ok = short(name[i+1:]); ok {
			return c, true
		}
	}
	folders := strings.Split(path.Dir(page), "/")
	for i := len(folders) - 1; i >= 0; i-- {
		if c, ok = short(folders[i]); ok {
			return c, true
		}
	}
	return English, false
}

// short does the same as Parse, but accepts only tags with a two-letter language.
func short(tag string) (Code, bool) {
	c, ok := Parse(tag)
	main, _, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-")
	return c, ok && len(main) == 2
}
