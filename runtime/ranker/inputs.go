package ranker

import "strings"

// Group is a kind of inputs that people are told of together.
type Group string

// The groups of inputs.
const (
	// Found is what the candidate was found by: words, meaning, near and path.
	Found Group = "found"
	// Rows is how near its best row is to the question.
	Rows Group = "rows"
	// Words is how near its words are to each word of the question.
	Words Group = "words"
	// Headings is the same of its title and headings alone.
	Headings Group = "headings"
	// Shape is how long it is, where it stands, and what else of its page is in the
	// pool.
	Shape Group = "shape"
	// Question is about the question alone.
	Question Group = "question"
)

// Groups are all groups, in the order in which they are shown.
func Groups() []Group { return []Group{Found, Rows, Words, Headings, Shape} }

// Kernels are the cosines around which near words are counted: 1 is the word
// itself, 0.2 hardly related.
var Kernels = [5]float64{1, 0.8, 0.6, 0.4, 0.2}

// An Input is the place of an input of a candidate.
const (
	InWords        = iota             // BM25 relative to the best
	InMeaning                         // cosine relative to the spread
	InNear                            // see search.Evidence
	InPath                            //
	InSum                             // the weighted sum of these
	InRow                             // cosine of the best row with its headings
	InRowScaled                       // relative to the spread of the corpus
	InRowWords                        // how near its words are to the question's
	InRowMissed                       // the heaviest word of the question that it has nothing near to
	InRowKernels                      // five: question words by how near its nearest word is
	InRowAt        = InRowKernels + 5 // where it stands, 0 to 1
	InText         = InRowAt + 1      // as InRowWords, of headings and text
	InTextMissed   = InText + 1
	InTextKernels  = InTextMissed + 1   // five
	InTextCounts   = InTextKernels + 5  // five: how many near words
	InBody         = InTextCounts + 5   // as InText, without headings
	InHeading      = InBody + 1         // as InText, of its heading
	InHead         = InHeading + 1      // of title and headings
	InHeadKernels  = InHead + 1         // five
	InHeadCosine   = InHeadKernels + 5  // of title and headings together
	InHeadingAsked = InHeadCosine + 1   // how much of its heading the question has
	InTokens       = InHeadingAsked + 1 // its length
	InRows         = InTokens + 1       // how many rows
	InBytes        = InRows + 1
	InLevel        = InBytes + 1 // of its heading
	InPageWords    = InLevel + 1 // the best of the page's other candidates
	InPageMeaning  = InPageWords + 1
	InPageOthers   = InPageMeaning + 1 // how many there are
	InNews         = InPageOthers + 1  // the page is about a time: a post, a release, a plan
	InMakers       = InNews + 1        // it is for those who work on the product
	InNames        = InMakers + 1      // from here on of the question: names of code in it
	InUnits        = InNames + 1       // how many words
	InFound        = InUnits + 1       // how much of it the best candidate by words has
	InAhead        = InFound + 1       // how far the nearest is ahead of the average
	InNearest      = InAhead + 1       // its cosine
	InAsked        = InNearest + 1     // it comes with phrasings
	Count          = InAsked + 1
)

var names = strings.Fields(`words meaning near path sum
	row row-scaled row-words row-missed row-1 row-.8 row-.6 row-.4 row-.2 row-at
	text text-missed text-1 text-.8 text-.6 text-.4 text-.2 count-1 count-.8 count-.6 count-.4 count-.2
	body heading head head-1 head-.8 head-.6 head-.4 head-.2 head-cosine heading-asked
	tokens rows bytes level page-words page-meaning page-others page-news page-makers
	q-names q-words q-found q-ahead q-nearest q-asked`)

// Inputs are the names of a candidate's inputs. The list is not to be changed.
func Inputs() []string { return names }

// inputsOfNet is how many a net has: a candidate's, and those that are not of the
// question once more, as what sets it apart from the average of the pool.
func inputsOfNet() int { return Count + InNames }

func groupOf(input int) Group {
	switch at := input % Count; {
	case at <= InSum:
		return Found
	case at <= InRowAt:
		return Rows
	case at <= InBody:
		return Words
	case at <= InHeadingAsked:
		return Headings
	case at < InNames:
		return Shape
	}
	return Question
}

// Average returns the average inputs of a pool.
func Average(pool []Candidate) []float32 {
	average := make([]float32, InNames)
	for _, c := range pool {
		for j := range average {
			average[j] += c.Inputs[j]
		}
	}
	for j := range average {
		average[j] /= float32(len(pool))
	}
	return average
}

// Relate writes the inputs of a net to into, which has [Width] elements.
func Relate(into, inputs, average []float32) {
	copy(into, inputs)
	for j, x := range average {
		into[Count+j] = inputs[j] - x
	}
}

// Width is how many inputs a net has.
func Width() int { return inputsOfNet() }
