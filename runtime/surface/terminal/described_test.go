package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// An option's description and the agent's recommendation are shown. The recommended
// option is not preselected.
func TestHeadersDescriptionsAndWhatIsRecommendedAreShown(t *testing.T) {
	q := selecting(elicit.SingleSelect, true)
	q.Title, q.Options[1].Description = "Letter", "the second"
	s := newFormModel(asked(t, q), false)
	sheet := strings.Join(s.view(80, 24, time.Now()).rows, "\n")
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	(&talk{model: s, d: &Device{Out: out}}).question()
	lines, err := os.ReadFile(out.Name())
	if err != nil || out.Close() != nil {
		t.Fatal(err)
	}
	for surface, c := range map[string]struct {
		shown string
		want  []string
	}{
		"sheet": {sheet, []string{"Letter", "Which?", "( ) Beta [recommended]", "the second"}},
		"lines": {string(lines), []string{"Letter: Which?", "2. Beta (recommended): the second"}},
	} {
		for _, want := range c.want {
			if strings.Count(c.shown, want) != 1 {
				t.Errorf("%s: %q is not there once:\n%s", surface, want, c.shown)
			}
		}
	}
	if strings.Contains(sheet, "(x)") {
		t.Errorf("an option is chosen before the person has:\n%s", sheet)
	}
}
