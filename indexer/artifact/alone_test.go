package artifact

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAloneIsOnlyAnIndex(t *testing.T) {
	data := dataPrefix + "0123456789abcdef" + dataSuffix
	for name, c := range map[string]struct {
		files []string // a folder if it ends with /
		want  bool
	}{
		"an index":               {[]string{MetadataFile, data, lockName}, true},
		"while one is built":     {[]string{MetadataFile, data, lockName, tempPrefix + "1"}, true},
		"nothing":                {nil, false},
		"metadata by itself":     {[]string{MetadataFile}, false},
		"a file beside it":       {[]string{MetadataFile, data, "id_ed25519"}, false},
		"a folder beside it":     {[]string{MetadataFile, data, "keys/"}, false},
		"a folder by its name":   {[]string{MetadataFile + "/", data}, false},
		"a folder that is built": {[]string{MetadataFile, data, tempPrefix + "1/"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range c.files {
				path := filepath.Join(dir, f)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if f[len(f)-1] == '/' {
					os.Mkdir(path, 0o755)
				} else if err := os.WriteFile(path, nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := Alone(dir); got != c.want {
				t.Errorf("Alone(%q) = %v", c.files, got)
			}
		})
	}
	t.Run("not there", func(t *testing.T) {
		if Alone(filepath.Join(t.TempDir(), "none")) {
			t.Error("a folder that is not there is an index")
		}
	})
	t.Run("a link beside it", func(t *testing.T) {
		dir := t.TempDir()
		for _, f := range []string{MetadataFile, data} {
			os.WriteFile(filepath.Join(dir, f), nil, 0o644)
		}
		if err := os.Symlink(t.TempDir(), filepath.Join(dir, tempPrefix+"1")); err != nil {
			t.Skip("NOT TESTED: no symbolic links here:", err)
		}
		if Alone(dir) {
			t.Error("a folder with a link is only an index")
		}
	})
}
