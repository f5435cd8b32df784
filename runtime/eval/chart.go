package eval

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Chart is a bar chart of NDCG, with a group of bars for each row and one bar for
// each column.
type Chart struct {
	Title   string
	Columns []string
	Rows    []ChartRow
}

// ChartRow is one group. Values are from 0 to 1, one per column; a negative
// value is unknown and has no bar.
type ChartRow struct {
	Name   string
	Values []float64
}

// Dimensions of a chart in pixels.
const (
	chartWidth  = 760
	chartLeft   = 170 // start of the bars; the names are to the left
	chartRight  = 50  // right margin for the value of a full bar
	chartTop    = 34  // title
	chartLine   = 18  // legend line
	chartBar    = 12
	chartGap    = 14 // between groups
	chartLetter = 7  // approximate width of a character
)

// chartInk is the text color: a grey that is readable on white and on black,
// because an image does not know the background of its page.
const chartInk = "#737b84"

// chartColours distinguishes columns on light and dark pages. If there are more
// columns, the colors repeat.
var chartColours = []string{"#9aa0a6", "#e08e0b", "#a06cd5", "#1f9e89", "#d1495b", "#3b82f6"}

// CategoryChart returns a chart of reports by category.
func CategoryChart(reports ...Report) Chart {
	var c Chart
	for i, r := range reports {
		if i == 0 {
			c.Title = metrics[0].title(r.K) + " by category"
		}
		c.Columns = append(c.Columns, r.Name)
	}
	eachRow(reports, func(name string, of func(Report) (Scores, bool)) {
		row := ChartRow{Name: name}
		for _, r := range reports {
			value := -1.0
			if s, ok := of(r); ok {
				value = s.NDCG
			}
			row.Values = append(row.Values, value)
		}
		c.Rows = append(c.Rows, row)
	})
	return c
}

// SVG returns the chart as an image of text and rectangles, with no scripts or
// embedded fonts. The image is readable on light and dark pages. The output is
// deterministic.
func (c Chart) SVG() string {
	var b strings.Builder
	var legend strings.Builder
	top := c.legend(&legend) + 10
	group := len(c.Columns)*chartBar + chartGap
	bottom := top + len(c.Rows)*group
	height := bottom + 24
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		chartWidth, height, chartWidth, height, html.EscapeString(printable(c.Title)))
	b.WriteString("<style>text{font:12px sans-serif;fill:" + chartInk + "}.v{font-size:10px}.t{font-weight:bold;font-size:14px}.g{stroke:" + chartInk + ";stroke-width:.3}</style>\n")
	text(&b, "t", 8, 20, "start", c.Title)
	b.WriteString(legend.String())
	for tenth := 0; tenth <= 10; tenth += 2 {
		at := chartLeft + barWidth(float64(tenth)/10)
		fmt.Fprintf(&b, `<line class="g" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", at, top-6, at, bottom-4)
		text(&b, "v", at, bottom+10, "middle", fmt.Sprintf("%.1f", float64(tenth)/10))
	}
	for n, row := range c.Rows {
		y := top + n*group
		text(&b, "", chartLeft-8, y+(group-chartGap)/2+4, "end", row.Name)
		for i, value := range row.Values {
			if value < 0 {
				continue
			}
			rect(&b, chartLeft, y+i*chartBar, barWidth(value), chartBar-2, i)
			text(&b, "v", chartLeft+barWidth(value)+4, y+i*chartBar+chartBar-3, "start", fmt.Sprintf("%.3f", value))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// legend writes the columns' names, on as many lines as necessary, and returns the
// y coordinate below them.
func (c Chart) legend(b *strings.Builder) (bottom int) {
	x, y := 8, chartTop
	for i, name := range c.Columns {
		name = textutil.Shorten(printable(name), maxCell)
		width := 35 + chartLetter*utf8.RuneCountInString(name)
		if i > 0 && x+width > chartWidth {
			x, y = 8, y+chartLine
		}
		rect(b, x, y, 10, 10, i)
		text(b, "", x+15, y+9, "start", name)
		x += width
	}
	return y + chartLine
}

func barWidth(value float64) int {
	return int(min(1, max(0, value))*(chartWidth-chartLeft-chartRight) + 0.5)
}

func rect(b *strings.Builder, x, y, width, height, column int) {
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", x, y, width, height, chartColours[column%len(chartColours)])
}

func text(b *strings.Builder, class string, x, y int, anchor, s string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	if anchor != "start" {
		class += ` text-anchor="` + anchor + `"`
	}
	fmt.Fprintf(b, `<text%s x="%d" y="%d">%s</text>`+"\n", class, x, y, html.EscapeString(textutil.Shorten(printable(s), maxCell+20)))
}
