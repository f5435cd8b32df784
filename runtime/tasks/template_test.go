package tasks_test

import (
	"strings"
	"testing"

	. "github.com/deskhand/deskhand/runtime/tasks"
)

func TestTemplatesBelongToAProject(t *testing.T) {
	m := peer(t, t.TempDir(), Options{MaxRunning: -1})
	p, _ := project(t, m, Repo{})
	for _, one := range []Template{{"Release", "Bump."}, {"Bug", "Find the cause."}, {" Release ", "Bump, and tag."}} {
		if err := m.PutTemplate(t.Context(), p.ID, one); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := m.Templates(t.Context(), p.ID); err != nil || len(got) != 2 || got[0].Title != "Bug" || got[1].Description != "Bump, and tag." {
		t.Errorf("Templates = %+v, %v", got, err)
	}
	refused(t, "a template without a title", m.PutTemplate(t.Context(), p.ID, Template{Description: "x"}), MissingRequired)
	refused(t, "a title that is too long", m.PutTemplate(t.Context(), p.ID, Template{Title: strings.Repeat("a", 5000)}), InvalidArgument)
	refused(t, "a template of no project", m.PutTemplate(t.Context(), "0190aaaa-0000-7000-8000-000000000000", Template{Title: "x"}), NotFound)
	if err := m.DropTemplate(t.Context(), p.ID, "Bug"); err != nil {
		t.Fatal(err)
	}
	if err := m.RemoveProject(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Templates(t.Context(), p.ID); err != nil || len(got) != 0 {
		t.Errorf("Templates of a project that is gone = %+v, %v", got, err)
	}
}
