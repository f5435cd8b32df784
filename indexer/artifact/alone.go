package artifact

import (
	"os"
	"strings"
)

// Alone reports whether dir is a folder that contains only an artifact: the files that
// a build writes, and no folders or links. Sandboxed agents get access only to such a
// folder, because any other files in it must stay hidden from them.
func Alone(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	data, metadata := false, false
	for _, e := range entries {
		name := e.Name()
		switch {
		case !e.Type().IsRegular():
			return false
		case name == MetadataFile:
			metadata = true
		case DataFile.MatchString(name):
			data = true
		case name != lockName && !strings.HasPrefix(name, tempPrefix):
			return false
		}
	}
	return data && metadata
}
