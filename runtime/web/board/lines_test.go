package board

import "testing"

func TestALinkFindsItsLinesAfterTheyMoved(t *testing.T) {
	lines := []string{"a", "b", "c", "d", "c", "d"}
	of := digestOf([]string{"c", "d"})
	for name, c := range map[string]struct {
		from  anchor
		lines []string
		want  int // 0 if they are gone
	}{
		"they are where they were": {anchor{First: 3, Last: 4}, lines, 3},
		"they moved down":          {anchor{First: 2, Last: 3}, lines, 3},
		"the nearest ones count":   {anchor{First: 6, Last: 7}, lines, 5},
		"they are gone":            {anchor{First: 3, Last: 4}, []string{"a", "b", "c"}, 0},
		"the file is empty":        {anchor{First: 1, Last: 2}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			now, found := c.from.find(c.lines, of)
			if found != (c.want > 0) || found && (now.First != c.want || now.Last != c.want+1) {
				t.Errorf("find(%q) from %v = %v, %v, want line %d", c.lines, c.from, now, found, c.want)
			}
		})
	}
	if a := anchorOf([]string{anchor{Old: true, First: 3, Last: 5}.String()}); a != (anchor{true, 3, 5}) {
		t.Errorf("an address does not keep its lines: %v", a)
	}
}
