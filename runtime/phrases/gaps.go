package phrases

import (
	"slices"

	"github.com/deskhand/deskhand/runtime/gaps"
)

// Asked counts the recorded questions that found little and came nearest to a
// chunk, by its id.
func Asked(r gaps.Report) map[string]int {
	asked := map[string]int{}
	for _, g := range r.Gaps {
		if g.Phrases() != nil {
			asked[g.Nearest.ChunkID] += g.Count
		}
	}
	return asked
}

// FromGaps gives the chunks that recorded questions came nearest to these questions
// as phrases, beside those that they have. No model is asked. The lines are a
// person's then: no model replaces them.
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
				w.fail(id, "no question is of use: "+why[0])
			}
			continue
		}
		file.set(line{ID: id, Phrases: slices.Concat(before.Phrases, fit)})
		w.report.Written++
		w.report.Phrases += len(fit)
	}
	return w.end(nil)
}
