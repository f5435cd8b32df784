package app

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/web"
)

func TestServeSaysWhereTheFirstPageIs(t *testing.T) {
	for want, has := range map[string]struct{ inbox, board, docs bool }{
		"inbox at http://h/":             {true, true, true},
		"board at http://h/work":         {false, true, true},
		"search page at http://h/search": {false, false, true},
		"":                               {},
	} {
		said := ""
		h := &httpServer{server: &server{lib: &docsServer{}, Service: Service{Tell: func(text string) { said += text }}}}
		if has.inbox {
			h.pages = &peoplePages{}
		}
		if has.board {
			h.Groups = []string{"work"}
		}
		if has.docs {
			h.lib.engine = &search.Engine{}
		}
		h.tellPage("http://h", web.People{})
		if said != want {
			t.Errorf("tellPage with %+v says %q, want %q", has, said, want)
		}
	}
}
