package language

// Conditions for a question to be in a language. A question has too few words for
// [Detect]. Of 422,000 sentences of English docs, fewer than 20 are taken for
// another language, and none of 2,635 English questions; of 160 questions in German,
// Japanese, Spanish and Chinese, 153 are recognized.
const (
	askedKinds = 2 // distinct function words in the language
	askedShare = 5 // one in so many words is a function word in the language
	askedCJK   = 2 // CJK characters
)

// OfQuestion returns the language of a question. ok is false if its words do not
// say which one it is.
func OfQuestion(text string) (c Code, ok bool) {
	e := look(text[:min(len(text), maxRead)])
	if n := e.han + e.kana + e.hangul; n >= askedCJK && (e.hits[English] == 0 || cjkWeight*n >= e.letters) {
		e.letters = 0 // names and code are in Latin letters in every language
		return e.cjk(English)
	}
	best, hits := e.best()
	if english := e.hits[English]; english > hits {
		best, hits = English, english
	} else if hits <= 2*english {
		return English, false
	}
	return best, e.kinds(best) >= askedKinds && askedShare*hits >= e.words
}

// Name returns the language's English name.
func (c Code) Name() string {
	for tag, code := range codes {
		if code == c && len(tag) > 2 {
			return string(tag[0]-'a'+'A') + tag[1:]
		}
	}
	return c.String()
}
