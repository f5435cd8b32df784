package train

import "slices"

const (
	batchPairs = 1024
	// blockPairs is the number of consecutive pairs of one source that stay in the
	// same batch. Sections of the same page are the hardest negative examples, and
	// the most similar to a real search.
	blockPairs = 64
	// oneSource is the share of batches in which all pairs come from the same
	// source.
	oneSource = 0.5
	// minBatch is the minimum size of a batch.
	minBatch = 16
)

// batches splits the pairs of one epoch into batches.
func (t *trainer) batches(epoch int) [][]int32 {
	r := randomOf(t.Seed, uint64(epoch), 5)
	var whole, mixed [][]int32
	var loose [][]int32 // blocks for batches of mixed sources
	for _, pairs := range t.bySource() {
		dealt := dealPages(&r, t.pairs, pairs, epoch)
		blocks := slices.Collect(slices.Chunk(dealt, blockPairs))
		shuffle(&r, blocks)
		const per = batchPairs / blockPairs
		for len(blocks) >= per {
			if r.chance(oneSource) {
				whole = append(whole, slices.Concat(blocks[:per]...))
			} else {
				loose = append(loose, blocks[:per]...)
			}
			blocks = blocks[per:]
		}
		loose = append(loose, blocks...)
	}
	shuffle(&r, loose)
	var batch []int32
	for _, b := range loose {
		if len(batch)+len(b) > batchPairs {
			mixed = append(mixed, batch)
			batch = nil
		}
		batch = append(batch, b...)
	}
	if len(batch) >= minBatch {
		mixed = append(mixed, batch)
	}
	all := append(whole, mixed...)
	shuffle(&r, all)
	return all
}

// bySource groups the pairs by source. It omits pairs with too few words.
func (t *trainer) bySource() [][]int32 {
	groups := make([][]int32, len(t.Dirs))
	for i, p := range t.pairs {
		if len(t.texts[i].query) > 0 && len(t.texts[i].document) >= 5 {
			groups[p.source] = append(groups[p.source], int32(i))
		}
	}
	return groups
}

// dealPages returns the pairs of one source page by page. In even epochs, the pages
// are in random order. In odd epochs, they are in their original order, starting with
// a random page.
func dealPages(r *random, all []pair, pairs []int32, epoch int) []int32 {
	var pages [][]int32
	for i, p := range pairs {
		if i == 0 || all[p].page != all[pairs[i-1]].page {
			pages = append(pages, nil)
		}
		last := len(pages) - 1
		pages[last] = append(pages[last], p)
	}
	if len(pages) == 0 {
		return nil
	}
	if epoch%2 == 0 {
		shuffle(r, pages)
	} else {
		at := r.below(len(pages))
		pages = append(pages[at:len(pages):len(pages)], pages[:at]...)
	}
	for _, p := range pages {
		shuffle(r, p)
	}
	return slices.Concat(pages...)
}
