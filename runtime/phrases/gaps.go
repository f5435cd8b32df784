package phrases

import (
	"slices"

	"github.com/deskhand/deskhand/runtime/gaps"
)

// Asked returns the number of recorded questions with few results for each
// nearest chunk, by chunk ID. It counts only questions that the chunk may
// answer.
func Asked(r gaps.Report) map[string]int {
	asked := map[string]int{}
	for _, g := range r.Gaps {
		if g.Phrases() != nil {
			asked[g.Nearest.ChunkID] += g.Count
		}
	}
	return asked
}

// FromGaps adds recorded questions as phrases to the chunks nearest to them, in
// addition to the chunks' existing phrases. It uses no model. These lines then
// count as written by a person, so no model replaces them.
func FromGaps(file *File, index string, r gaps.Report) (Report, error) {
	sections, _, err := sectionsOf(index)
	if err != nil {
		return Report{}, err
	}
	of := map[string]*Section{}
	for i := range sections {
		for _, id := range sections[i].IDs {
			of[id] = &sections[i]
		}
	}
	w := start(file, Options{}, 0)
	for _, g := range r.Gaps {
		list := g.Phrases()
		if list == nil || of[g.Nearest.ChunkID] == nil {
			continue
		}
		id := g.Nearest.ChunkID
		w.report.Todo++
		before, _ := file.get(id)
		fit, why := checked(list, of[id], len(list))
		fit = slices.DeleteFunc(fit, func(p string) bool { return slices.Contains(before.Phrases, p) })
		w.report.Refused += len(why)
		if len(fit) == 0 {
			if len(why) > 0 {
				w.fail(id, "no question is usable: "+why[0])
			}
			continue
		}
		file.set(line{ID: id, Phrases: slices.Concat(before.Phrases, fit)})
		w.report.Written++
		w.report.Phrases += len(fit)
	}
	return w.end(nil)
}
