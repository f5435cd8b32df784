package eval

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/goldentest"
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	goldentest.Compare(t, filepath.Join("testdata", name), got)
}

// harbor is a report over testdata/cases.json. The engine finds what is listed
// under a query, at that rank.
func harbor(t *testing.T, name string, hits map[string][]Hit) Report {
	t.Helper()
	cases, warnings, err := Load("testdata/cases.json")
	if err != nil || len(warnings) > 0 {
		t.Fatalf("Load = %q, %v", warnings, err)
	}
	has := func(path string) bool { return path != "charts.md" }
	r := evaluated(t, &shelf{hits: hits}, cases, Options{Name: name, Has: has})
	r.Timing = &Timing{
		Latency: Latency{P50: 1.25, P95: 4.5}, Seconds: 2, PeakRSS: 41.7,
		Categories: []CategoryLatency{{"error", Latency{1.5, 4.5}}, {"how-to", Latency{1, 2}}},
	}
	return r
}

func before(t *testing.T) Report {
	return harbor(t, "main", map[string][]Hit{
		"tie a boat to the quay":                {sectionHit("rope.md", "Knots"), sectionHit("mooring.md", "At the quay")},
		"how deep is the water at noon":         {sectionHit("tides.md", "Reading the table")},
		"E42 anchor drags":                      append(others(1), sectionHit("anchor.md", "E42")),
		"signal lost":                           {sectionHit("radio.md", "Signal lost")},
		"where do I | pay <the> `harbour` fee?": others(6),
	})
}

func after(t *testing.T) Report {
	return harbor(t, "stemming", map[string][]Hit{
		"tie a boat to the quay":                {sectionHit("mooring.md", "At the quay"), sectionHit("rope.md", "Knots")},
		"how deep is the water at noon":         {sectionHit("tides.md", "Reading the table")},
		"E42 anchor drags":                      others(2),
		"signal lost":                           {sectionHit("radio.md", "Signal lost")},
		"where do I | pay <the> `harbour` fee?": append(others(6), sectionHit("fees.md", "Paying")),
	})
}

func TestRenderings(t *testing.T) {
	base, now := before(t), after(t)
	delta := Compare(base, now)
	out, err := JSON(base)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", string(out))
	golden(t, "report.md", Markdown(base))
	golden(t, "report.txt", Terminal(Style{Lowest: 2}, base))
	golden(t, "report-ascii.txt", Terminal(Style{ASCII: true, Width: 100}, base))
	sides := []Report{base, now}
	Against(sides)
	if out, err = JSON(sides...); err != nil {
		t.Fatal(err)
	}
	golden(t, "side.json", string(out))
	golden(t, "side.md", Markdown(sides...))
	golden(t, "side.txt", Terminal(Style{}, sides...))
	golden(t, "delta.md", delta.Markdown())
	golden(t, "delta.txt", delta.Terminal(Style{}))
}

func TestNoReportsRenderNothing(t *testing.T) {
	if got := Markdown() + Terminal(Style{}); got != "" {
		t.Errorf("rendering of nothing = %q", got)
	}
}

func TestAReportCanBeReadBack(t *testing.T) {
	want := before(t)
	out, err := JSON(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadReport(write(t, "report.json", string(out)))
	if err != nil || !reflect.DeepEqual(got, want.rounded()) {
		t.Errorf("ReadReport = %+v, %v; want %+v", got, err, want.rounded())
	}
}

func TestReadReportRefuses(t *testing.T) {
	both, err := JSON(before(t), before(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"no JSON": "hello", "two reports": string(both), "cases": `[{"query": "a"}]`, "an object": "{}", "cut off": `{"k": 5, "summary": {"cases": 3}, "cases": []}`,
		"a score too high": `{"k": 5, "summary": {"cases": 1}, "cases": [{"name": "a", "ndcg": 1e308}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadReport(write(t, "report.json", content))
			if f := fault.Of(err); f == nil || f.Code != "bad_report" || !strings.Contains(f.Message, "report.json") {
				t.Errorf("ReadReport(%.40q) = %v, want fault bad_report that names the file", content, err)
			}
		})
	}
	if _, err := ReadReport("none.json"); fault.Of(err) == nil || fault.Of(err).Code != "no_report" {
		t.Errorf("ReadReport of a missing file = %v, want fault no_report", err)
	}
}

func TestTheTerminalIsNotSteeredByNames(t *testing.T) {
	r := before(t)
	r.Name, r.Cases[0].Error = "evil\x1b[2J", "oh\r\nno\x1b[31m\u202e"
	for _, out := range []string{Terminal(Style{}, r), Terminal(Style{}, r, r), Markdown(r, r)} {
		if strings.ContainsAny(out, "\x1b\r\u202e") {
			t.Errorf("control characters came through: %q", out)
		}
	}
}

func TestBarsFitTheirWidth(t *testing.T) {
	for _, width := range []int{1, 40, 66, 80, 132} {
		for line := range strings.Lines(Terminal(Style{Width: width}, before(t))) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); strings.Contains(line, "█") && n > width {
				t.Errorf("at width %d a line with a bar is %d wide: %q", width, n, line)
			}
		}
	}
	for _, test := range []struct {
		value float64
		ascii bool
		want  string
	}{{0, false, ""}, {1, false, "████"}, {0.5, false, "██"}, {0.53, false, "██▏"}, {0.72, false, "██▉"}, {7, false, "████"}, {-1, false, ""}, {0.5, true, "##"}} {
		if got := bar(test.value, 4, test.ascii); got != test.want {
			t.Errorf("bar(%v, 4, %v) = %q, want %q", test.value, test.ascii, got, test.want)
		}
	}
}
