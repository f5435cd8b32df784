package eval

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

func TestChartIsTheSamePicture(t *testing.T) {
	golden(t, "chart.svg", CategoryChart(before(t), after(t)).SVG())
}

// TestChartIsXML also with names that look like it, and without anything.
func TestChartIsXML(t *testing.T) {
	hostile := before(t)
	hostile.Name = "<script>&\"'\x1b[2J\u202e" + strings.Repeat("long ", 40)
	for _, c := range []Chart{{}, CategoryChart(), CategoryChart(hostile, hostile), {Columns: []string{"a"}, Rows: []ChartRow{{"high", []float64{7}}, {"none", []float64{-1}}}}} {
		svg := c.SVG()
		elements := map[string]int{}
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, svg)
			}
			if start, ok := token.(xml.StartElement); ok {
				elements[start.Name.Local]++
			}
		}
		if elements["script"] > 0 || strings.ContainsAny(svg, "\x1b\u202e") || elements["svg"] != 1 {
			t.Errorf("elements %v in %s", elements, svg)
		}
	}
}

func TestChartDrawsWhatIsKnown(t *testing.T) {
	with := func(values ...float64) int {
		c := Chart{Columns: make([]string, len(values)), Rows: []ChartRow{{"row", values}}}
		return strings.Count(c.SVG(), "<rect") - len(values) // the others are the legend's
	}
	if got := with(0.5, -1, 0); got != 2 {
		t.Errorf("a chart of a value, none and zero has %d bars, want 2", got)
	}
}
