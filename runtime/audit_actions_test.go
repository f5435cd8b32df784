package runtime

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each action that the audit log can have is in the table of its page.
func TestActionsOfTheAuditLogAreInTheManual(t *testing.T) {
	page, err := os.ReadFile("../corpus/reference/commands/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		object := ""
		for _, name := range regexp.MustCompile("`([a-z]*)\\.([a-z-]+)`").FindAllStringSubmatch(line, -1) {
			if name[1] != "" {
				object = name[1]
			}
			listed[object+"."+name[2]] = true
		}
	}
	action := regexp.MustCompile(`(?:Action:\s+|:\s+|= )"((?:question|attempt|task|budget|project|person|member|token|rota|rule|session|message|credential|store|audit)\.[a-z-]+)"`)
	found := 0
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range action.FindAllStringSubmatch(string(source), -1) {
			found++
			if !listed[m[1]] && m[1] != "person.key" { // a file
				t.Errorf("%s records %s, which is not in the table of audit.md", path, m[1])
			}
		}
		return nil
	})
	if err != nil || found < 30 {
		t.Fatalf("%d actions were found, %v", found, err)
	}
}
