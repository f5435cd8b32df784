package attempts_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func TestAnImageThatIsNoneIsRefused(t *testing.T) {
	d := opened(t, false)
	dir := t.TempDir()
	large := filepath.Join(dir, "large.png")
	if err := os.WriteFile(large, []byte("\x89PNG\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, tasks.MaxImage+1000); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{""}, "--image is empty"},
		{[]string{dir}, "is a folder"},
		{[]string{filepath.Join(dir, "none")}, "cannot read the image"},
		{[]string{large}, "has 5243880 bytes"},
		{slices.Repeat([]string{large}, 9), "can have 8 images, not 9"},
	} {
		_, err := d.WithImages(t.Context(), "look", c.files)
		if f := fault.Of(err); f == nil || f.Code != "misuse" || f.Hint == "" || !strings.Contains(f.Message, c.want) {
			t.Errorf("%q: %v; want %q with a hint", c.files, err, c.want)
		}
	}
}
