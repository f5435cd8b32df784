package tasks_test

import (
	"slices"
	"testing"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

func TestFilesAreFoundByTheirPath(t *testing.T) {
	m := peer(t, t.TempDir(), Options{MaxRunning: -1})
	path := gitRepo(t, "web/price.go", "web/price_test.go", "old/unprice.md", "price/list.txt")
	write(t, path+"/untracked-price.txt", "x")
	p, _ := project(t, m, Repo{Path: path, Name: "shop"})
	for words, want := range map[string][]string{
		"PRICE":      {"web/price.go", "web/price_test.go", "old/unprice.md", "price/list.txt"},
		"web price":  {"web/price.go", "web/price_test.go"},
		"price list": {"price/list.txt"},
		"nowhere":    {},
	} {
		if got, err := m.FindFiles(t.Context(), p.ID, words, 10); err != nil || !slices.Equal(got, want) {
			t.Errorf("FindFiles(%q) = %q, %v; want %q", words, got, err, want)
		}
	}
	if _, _, err := m.AddRepo(t.Context(), "desk", Repo{Path: gitRepo(t, "price.css"), Name: "style"}); err != nil {
		t.Fatal(err)
	}
	if got, err := m.FindFiles(t.Context(), p.ID, "price", 2); err != nil || !slices.Equal(got, []string{"style/price.css", "shop/web/price.go"}) {
		t.Errorf("FindFiles in two repositories = %q, %v", got, err)
	}
}
