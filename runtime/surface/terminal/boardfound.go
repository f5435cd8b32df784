package terminal

import "strings"

// A question about text that looks like secrets is a page of its own. A yes allows all
// findings, so it counts only at the page's end.

// foundPage returns the page, the number of its rows on the screen, and the highest scroll
// position.
func (b *board) foundPage() (p *page, room, last int) {
	p = newPage(b.width)
	p.add(bold, "", b.ask.title)
	for _, what := range b.ask.found {
		p.add("", "- ", flat(what))
	}
	p.add(bold, "", "Continue anyway?")
	room = max(b.height-2, 1) // without the head and the keys
	return p, room, max(len(p.rows)-room, 0)
}

// foundShown reports whether the end of the question is on the screen.
func (b *board) foundShown() bool {
	if b.ask.found == nil {
		return true
	}
	_, _, last := b.foundPage()
	return b.ask.scroll >= last
}

// scrollFound handles the keys that scroll. No key skips rows.
func (b *board) scrollFound(k key) {
	if b.ask.found == nil {
		return
	}
	_, room, last := b.foundPage()
	by := map[string]int{"j": 1, "down": 1, "k": -1, "up": -1}[k.name]
	switch k.name {
	case "pgdown", "space":
		by = max(room-2, 1) // marks of what is above and below hide two rows
	case "pgup":
		by = -max(room-2, 1)
	}
	b.ask.scroll = min(max(b.ask.scroll+by, 0), last)
}

func (b *board) viewFound() screen {
	p, _, last := b.foundPage()
	keys := []string{"PgDn more", "n no"}
	if b.foundShown() {
		keys = []string{"y yes", "n no"}
	}
	scroll := min(b.ask.scroll, last)
	return p.fit(b.height, b.head(p.width), []string{strings.Join(keys, "   ")}, &scroll)
}
