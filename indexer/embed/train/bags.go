package train

import "github.com/deskhand/deskhand/indexer/embed"

// What a batch changes in its texts, so that the model learns meaning where
// the lexical search would see the same words.
const (
	dropWord     = 0.1  // of a query's words
	phraseShare  = 0.35 // of queries like headings get a phrase in front
	withoutShare = 0.5  // of documents lose the query's words,
	withoutWord  = 0.8  // so many of them
)

// phrases stand before questions and mean nothing: learnt as such.
var phrases = []string{"how do i", "how to", "how can i", "what is", "what are", "why does", "is there a way to",
	"i want to", "i need to", "where do i find", "can i", "what happens when", "how does", "explain", "my",
	"when should i", "what is the best way to", "which option", "documentation for", "help with",
	"how do you", "can we", "where is", "which", "trying to", "unable to", "what does"}

// item is a bag of rows.
type item struct {
	rows    []uint16
	weights []float32
}

// pair fills the two items of a pair, each changed at random. counts is all
// zero before and after.
func (l *learner) pair(number int, counts []uint8, query, document *item) {
	r := randomOf(l.Seed, uint64(number), uint64(l.step), 6)
	text := l.texts[number]
	query.clear()
	if l.pairs[number].kind.isHeading() && r.chance(phraseShare) {
		for _, row := range l.phrases[r.below(len(l.phrases))] {
			query.add(row, counts)
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
	if len(document.rows) < 4 { // too little is left: take it whole
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

// Marks among the counts of a document's rows, which end below them.
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

// weigh sets the weights and clears the counts of its rows.
func (it *item) weigh(counts []uint8) {
	it.weights = it.weights[:0]
	for _, row := range it.rows {
		it.weights = append(it.weights, embed.Weight(int(counts[row])))
		counts[row] = 0
	}
}

func (l *learner) vector(i int) []float32 { return l.vectors[i*l.Dimensions : (i+1)*l.Dimensions] }
