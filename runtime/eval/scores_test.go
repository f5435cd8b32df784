package eval

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

func scoresText(t *testing.T, r Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteScores(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestScoresAreAStableText(t *testing.T) {
	r := before(t)
	got := scoresText(t, r)
	golden(t, "scores.txt", got)
	r.Timing, r.Name = nil, "other"
	if again := scoresText(t, r); again != got {
		t.Errorf("scores depend on time or name:\n%s\n%s", got, again)
	}
}

func TestScoresCanBeReadBack(t *testing.T) {
	r := before(t)
	r.Collapse = true
	r.Categories[0].Name = "all a name of more than twenty-eight characters #1"
	got, err := ReadScores(strings.NewReader(scoresText(t, r)))
	if err != nil || got.K != 5 || !got.Collapse || len(got.Categories) != len(r.Categories) {
		t.Fatalf("ReadScores = %+v, %v; want K 5, collapsed, %d categories", got, err, len(r.Categories))
	}
	if got.Categories[0].Name != r.Categories[0].Name || got.Total.Cases != r.Summary.Cases || math.Abs(got.Total.NDCG-r.Summary.NDCG) > 0.00005 {
		t.Errorf("ReadScores = %+v; want the names and values of %+v", got, r.Summary)
	}
}

func TestTheSameScoresAreNoChange(t *testing.T) {
	r := before(t)
	agreed, err := ReadScores(strings.NewReader(scoresText(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	d := CompareScores(agreed, r)
	for _, c := range append(d.Metrics, d.Categories...) {
		if c.Delta != 0 {
			t.Errorf("%s changed by %v between a report and its own scores", c.Name, c.Delta)
		}
	}
	if err := Gate(r, &d, 0, 0); err != nil || len(d.Notes) > 0 {
		t.Errorf("Gate = %v, notes %q; want none", err, d.Notes)
	}
	worse := CompareScores(agreed, after(t))
	if err := Gate(after(t), &worse, 0, 0); fault.Of(err) == nil {
		t.Errorf("Gate of lower scores = %v, want a fault", err)
	}
}

func TestReadScoresRefuses(t *testing.T) {
	head := "# category  n  NDCG@5  MRR@5  hit@5  recall@5  recall@10\n"
	for name, test := range map[string]struct{ text, want string }{
		"nothing":        {"", "no heading"},
		"no heading":     {"all 3 1 1 1 1 1\n", "no heading"},
		"no total":       {head + "error 3 1 1 1 1 1\n", "do not end"},
		"a short line":   {head + "all 3 1 1\n", "line 2 of the scores: want a category"},
		"no count":       {head + "all many 1 1 1 1 1\n", `"many" is not a number of cases`},
		"a high score":   {head + "all 3 1 1.1 1 1 1\n", `"1.1" is not a score`},
		"not a number":   {head + "all 3 NaN 1 1 1 1\n", `"NaN" is not a score`},
		"a name missing": {head + "3 1 1 1 1 1\n", "want a category"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadScores(strings.NewReader(test.text))
			if f := fault.Of(err); f == nil || f.Code != "bad_scores" || !strings.Contains(f.Message, test.want) {
				t.Errorf("ReadScores(%q) = %v, want a fault that says %q", test.text, err, test.want)
			}
		})
	}
}
