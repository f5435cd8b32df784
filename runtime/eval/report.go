package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Report is the result of Run. Except for Timing, the same answers give the
// same JSON bytes; set Timing to nil to keep a report under version control.
type Report struct {
	// Name is the engine's label, Options.Name.
	Name string `json:"name"`
	// K and Collapse are the options with the same names.
	K        int  `json:"k"`
	Collapse bool `json:"collapse"`
	// Summary covers all cases; Categories holds the scores of each category by
	// name.
	Summary    Scores     `json:"summary"`
	Categories []Category `json:"categories"`
	// MissingFiles lists the entries whose files are missing from the corpus.
	MissingFiles []MissingFile `json:"missing_files,omitempty"`
	// Cases holds the results in the order of the files.
	Cases  []CaseResult `json:"cases"`
	Timing *Timing      `json:"timing,omitempty"`
	// Against is the difference from a baseline or from the first of several
	// reports; nil if nothing is compared.
	Against *Delta `json:"against,omitempty"`
}

// Scores are means over a number of cases, 0 to 1 unless stated otherwise.
// ndcg.go defines them.
type Scores struct {
	// Cases is the number of all cases, Failed the number of cases whose query
	// returned an error, and Empty the number of cases without hits.
	Cases  int `json:"cases"`
	Failed int `json:"failed"`
	Empty  int `json:"empty"`

	NDCG     float64 `json:"ndcg"`
	MRR      float64 `json:"mrr"`
	HitRate  float64 `json:"hit_rate"`
	Recall5  float64 `json:"recall_at_5"`
	Recall10 float64 `json:"recall_at_10"`
	// FacetLeaks counts hits that the filters should have excluded.
	FacetLeaks int `json:"facet_leaks"`
	// AvgRounds is the mean number of pages until a good hit, or one more than
	// the allowed number if there was none; 0 if no case counts rounds.
	AvgRounds float64 `json:"avg_rounds,omitempty"`
}

// Category holds the scores of one category.
type Category struct {
	Name string `json:"name"`
	Scores
}

// CaseResult is the outcome of one case.
type CaseResult struct {
	Name     string            `json:"name"`
	Category string            `json:"category"`
	Query    string            `json:"query"`
	Filters  map[string]string `json:"filters,omitempty"`
	NDCG     float64           `json:"ndcg"`
	// FirstGood is the rank of the first good hit, from 1; 0 if no hit is good.
	FirstGood int `json:"first_good_rank"`
	// ReciprocalRank is 1 / FirstGood if FirstGood is at most K, and 0 otherwise.
	ReciprocalRank float64 `json:"reciprocal_rank"`
	Recall5        float64 `json:"recall_at_5"`
	Recall10       float64 `json:"recall_at_10"`
	// Hits is how many hits were returned on all pages read.
	Hits       int `json:"hits"`
	FacetLeaks int `json:"facet_leaks,omitempty"`
	// Rounds is the number that the case contributes to Scores.AvgRounds; 0 if
	// rounds are not counted.
	Rounds int `json:"rounds,omitempty"`
	// Top holds the first K hits.
	Top []Ranked `json:"top,omitempty"`
	// Missed names the good entries that no hit matches.
	Missed []string `json:"missed,omitempty"`
	// Error describes why the query failed; all scores are then 0. TextError
	// describes why a hit could not be opened; that hit was judged without its
	// text.
	Error     string `json:"error,omitempty"`
	TextError string `json:"text_error,omitempty"`
}

// Ranked is one hit and the grade it earned.
type Ranked struct {
	ChunkID string `json:"chunk_id"`
	Grade   int    `json:"grade"`
}

// MissingFile is an expected entry whose files are all missing from the corpus.
type MissingFile struct {
	Case     string `json:"case"`
	Filepath string `json:"filepath"`
}

func newReport(opts Options, results []CaseResult) Report {
	r := Report{Name: opts.Name, K: opts.K, Collapse: opts.Collapse, Summary: average(results), Cases: results}
	for _, name := range categoryNames(results) {
		own := slices.DeleteFunc(slices.Clone(results), func(c CaseResult) bool { return c.Category != name })
		r.Categories = append(r.Categories, Category{Name: name, Scores: average(own)})
	}
	return r
}

func categoryNames(results []CaseResult) []string {
	names := map[string]bool{}
	for _, c := range results {
		names[c.Category] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func average(results []CaseResult) Scores {
	s := Scores{Cases: len(results)}
	counted := 0
	for _, c := range results {
		s.NDCG += c.NDCG
		s.MRR += c.ReciprocalRank
		s.Recall5 += c.Recall5
		s.Recall10 += c.Recall10
		s.FacetLeaks += c.FacetLeaks
		s.AvgRounds += float64(c.Rounds)
		counted += min(c.Rounds, 1)
		if c.ReciprocalRank > 0 {
			s.HitRate++
		}
		switch {
		case c.Error != "":
			s.Failed++
		case c.Hits == 0:
			s.Empty++
		}
	}
	n := float64(max(1, len(results)))
	for _, mean := range []*float64{&s.NDCG, &s.MRR, &s.HitRate, &s.Recall5, &s.Recall10} {
		*mean /= n
	}
	s.AvgRounds /= float64(max(1, counted))
	return s
}

// JSON renders one report as an object and several reports as a list. Numbers
// have nine decimals, so rounding differences between machines do not show.
func JSON(reports ...Report) ([]byte, error) {
	rounded := make([]Report, len(reports))
	for i, r := range reports {
		rounded[i] = r.rounded()
	}
	var value any = rounded
	if len(rounded) == 1 {
		value = rounded[0]
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	return out.Bytes(), nil
}

func (r Report) rounded() Report {
	r.Summary = r.Summary.rounded()
	r.Categories = slices.Clone(r.Categories)
	for i := range r.Categories {
		r.Categories[i].Scores = r.Categories[i].Scores.rounded()
	}
	r.Cases = slices.Clone(r.Cases)
	for i := range r.Cases {
		c := &r.Cases[i]
		round9(&c.NDCG, &c.ReciprocalRank, &c.Recall5, &c.Recall10)
	}
	return r
}

func (s Scores) rounded() Scores {
	round9(&s.NDCG, &s.MRR, &s.HitRate, &s.Recall5, &s.Recall10, &s.AvgRounds)
	return s
}

func round9(values ...*float64) {
	for _, v := range values {
		*v = roundTo(*v, 9)
	}
}

// ReadReport reads a report written by JSON. The error is the fault "bad_report",
// or "no_report" if the file does not exist.
func ReadReport(path string) (Report, error) {
	data, err := readFile(path, "report")
	if err != nil {
		return Report{}, err
	}
	const hint = "pass a file with one report, as written by \"deskhand eval CASES.json --out FILE\""
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return Report{}, fault.New("bad_report", fmt.Sprintf("%s is not a report: %s", path, jsonFlaw(data, err)), hint)
	}
	if r.K <= 0 || len(r.Cases) == 0 || r.Summary.Cases != len(r.Cases) {
		return Report{}, fault.New("bad_report", fmt.Sprintf("%s is not a report: its cases are missing or cut off", path), hint)
	}
	for _, c := range r.Cases {
		for _, score := range []float64{c.NDCG, c.ReciprocalRank, c.Recall5, c.Recall10} {
			if score < 0 || score > 1 {
				return Report{}, fault.New("bad_report", fmt.Sprintf("%s: case %q has a score of %v, outside 0 to 1", path, c.Name, score), hint)
			}
		}
	}
	return r, nil
}

// jsonFlaw returns a readable explanation of why parsing data failed with err.
func jsonFlaw(data []byte, err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		return fmt.Sprintf("line %d is not JSON: %v", line, syntax)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("its %s must not be a JSON %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("it is a JSON %s, not an object", kind.Value)
	}
	return "it is not valid JSON"
}
