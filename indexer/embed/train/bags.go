package train

import "github.com/deskhand/deskhand/indexer/embed"

// Random changes to the text of a batch. They make the model learn meanings in
// addition to matching words, which keyword search already does.
const (
	dropWord     = 0.1  // share of a query's words that are dropped
	phraseShare  = 0.35 // share of heading queries that get a question opening in front
	withoutShare = 0.5  // share of documents that lose words of the query
	withoutWord  = 0.8  // share of the query's words that are dropped from these documents
)

// phrases lists question openings that carry no meaning. The model learns to ignore
// them.
var phrases = []string{"how do i", "how to", "how can i", "what is", "what are", "why does", "is there a way to",
	"i want to", "i need to", "where do i find", "can i", "what happens when", "how does", "explain", "my",
	"when should i", "what is the best way to", "which option", "documentation for", "help with",
	"how do you", "can we", "where is", "which", "trying to", "unable to", "what does"}

// openings lists question openings in other languages, by the code of the language.
var openings = map[string][]string{
	"de": {"wie kann ich", "wie", "wie geht", "was ist", "was sind", "warum", "gibt es eine möglichkeit", "ich möchte", "ich will",
		"wo finde ich", "kann ich", "was passiert wenn", "wie funktioniert", "wann sollte ich", "welche", "wo", "kann man", "wozu dient"},
	"es": {"cómo puedo", "cómo", "cómo se", "qué es", "qué son", "por qué", "hay alguna forma de", "quiero", "necesito",
		"dónde encuentro", "puedo", "qué pasa si", "cómo funciona", "cuándo debería", "cuál", "dónde", "se puede", "para qué sirve"},
	"ja": {"方法", "どうすれば", "どのように", "とは何ですか", "なぜ", "できますか", "どこで", "したい", "するには", "どうなりますか", "いつ使う", "どれ", "について教えて", "必要ですか", "ありますか"},
	"zh": {"如何", "怎么", "怎样", "什么是", "为什么", "有没有办法", "我想", "我需要", "在哪里", "可以吗", "会发生什么", "什么时候", "哪个", "能不能", "应该", "是什么"},
}

// item is a bag of rows with their weights.
type item struct {
	rows    []uint16
	weights []float32
}

// pair fills the two items of a pair, with random changes to each. counts must be
// all zeros, and is all zeros again afterwards.
func (l *learner) pair(number int, counts []uint8, query, document *item) {
	r := randomOf(l.Seed, uint64(number), uint64(l.step), 6)
	text := l.texts[number]
	query.clear()
	if l.pairs[number].kind.isHeading() && r.chance(phraseShare) {
		if phrases := l.phrases[l.pairs[number].in[0]]; len(phrases) > 0 {
			for _, row := range phrases[r.below(len(phrases))] {
				query.add(row, counts)
			}
		}
	}
	before := len(query.rows)
	for _, row := range text.query {
		if len(text.query) <= 2 || !r.chance(dropWord) {
			query.add(row, counts)
		}
	}
	if len(query.rows) == before {
		for _, row := range text.query {
			query.add(row, counts)
		}
	}
	query.weigh(counts)
	for _, row := range query.rows {
		counts[row] = inQuery
	}
	without := r.chance(withoutShare)
	document.clear()
	for _, row := range text.document {
		if counts[row] == inQuery {
			counts[row] = 0
			if without && r.chance(withoutWord) {
				counts[row] = left
			}
		}
		if counts[row] != left {
			document.add(row, counts)
		}
	}
	if len(document.rows) < 4 { // too little is left, so the whole document is used
		document.weigh(counts)
		for _, row := range text.document {
			counts[row] = 0
		}
		document.clear()
		for _, row := range text.document {
			document.add(row, counts)
		}
	}
	document.weigh(counts)
	for _, row := range query.rows {
		counts[row] = 0
	}
	for _, row := range text.document {
		counts[row] = 0
	}
}

// Special values of a document row's count. Real counts are at most maxCount.
const (
	maxCount = 253
	inQuery  = 254
	left     = 255
)

func (it *item) clear() { it.rows, it.weights = it.rows[:0], it.weights[:0] }

func (it *item) add(row uint16, counts []uint8) {
	if counts[row] == 0 {
		it.rows = append(it.rows, row)
	}
	if counts[row] < maxCount {
		counts[row]++
	}
}

// weigh sets the weights of the item's rows and clears their counts.
func (it *item) weigh(counts []uint8) {
	it.weights = it.weights[:0]
	for _, row := range it.rows {
		it.weights = append(it.weights, embed.Weight(int(counts[row])))
		counts[row] = 0
	}
}

func (l *learner) vector(i int) []float32 { return l.vectors[i*l.Dimensions : (i+1)*l.Dimensions] }
