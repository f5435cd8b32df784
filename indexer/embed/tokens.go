package embed

// AppendTokens appends the rows of the tokens of text to rows, in order: what a
// vector of it is the sum of. Parts of identifiers come with the whole.
func (m *Static) AppendTokens(rows []uint16, text string) []uint16 {
	Words(text, func(word []byte, joined bool) { rows = m.vocabulary.AppendWord(rows, word, joined) })
	return rows
}

// AddRow adds factor times a row, 0 <= row < Vocabulary().Len(), to sum, which
// must have Dimensions() elements.
func (m *Static) AddRow(sum []float32, row int, factor float32) {
	addRow(sum, m.row(row), factor*m.scale(row))
}

// Numbers writes the whole numbers of a row, each -8 to 7, to numbers, which must
// have Dimensions() elements; the row is scale times these.
func (m *Static) Numbers(row int, numbers []byte) (scale float32) {
	packed := m.row(row)
	unpackRow(numbers[:2*len(packed)], packed)
	return m.scale(row)
}

// ProseWords is how many words of prose text has: those that a sentence could
// have, and not names in code or numbers.
func ProseWords(text string) (words int) {
	eachProse(text, func(_ string, n int) { words += n })
	return words
}

// ProseShare is how near a section with so many words of prose is to anything, of
// what its words say: 0.2 with none, 1 with very many.
func ProseShare(words int) float64 {
	return (float64(words) + leastNear*halfNear) / (float64(words) + halfNear)
}
