package terminal

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// outside is text that is being edited in the person's own editor. It holds the
// command to run, and the file with the text.
type outside struct {
	cmd  *exec.Cmd
	file string
}

// editOutside prepares to edit text in $VISUAL or $EDITOR. It writes the text
// to a file that only this user can read.
func editOutside(text string) (*outside, error) {
	custom := "vi"
	if runtime.GOOS == "windows" {
		custom = "notepad"
	}
	words := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), custom))
	if len(words) == 0 {
		words = []string{custom}
	}
	f, err := os.CreateTemp("", "deskhand-*.md")
	if err != nil {
		return nil, fmt.Errorf("write the editor's file: %w", err)
	}
	_, err = f.WriteString(text)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(f.Name())
		return nil, fmt.Errorf("write the editor's file: %w", err)
	}
	return &outside{exec.Command(words[0], append(words[1:], f.Name())...), f.Name()}, nil
}

// text removes the file and returns the edited text, without the final line
// break that editors add. failed is the error from running the editor, if it
// failed.
func (o *outside) text(failed error) (string, error) {
	defer os.Remove(o.file)
	if failed != nil {
		return "", fmt.Errorf("run %s: %w", o.cmd.Path, failed)
	}
	b, err := os.ReadFile(o.file)
	if err != nil {
		return "", fmt.Errorf("read the editor's file: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), nil
}
