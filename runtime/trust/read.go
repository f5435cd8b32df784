package trust

import (
	"fmt"
	"io"
)

// TooLarge is the error of ReadFile for a file of more than Max bytes.
type TooLarge struct {
	Path string
	Max  int
}

func (e TooLarge) Error() string { return fmt.Sprintf("%s has more than %d bytes", e.Path, e.Max) }

// ReadFile reads a regular file once and says whose it is: owner names a user
// other than root and the one of this process, and is empty for those. What was
// asked about is what was opened, so a path that is replaced meanwhile changes
// nothing. A pipe or a device is an error and never waited for.
func ReadFile(path string, most int) (data []byte, owner string, err error) {
	f, err := openNoWait(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	if !info.Mode().IsRegular() {
		return nil, "", fmt.Errorf("%s is not a regular file", path)
	}
	if data, err = io.ReadAll(io.LimitReader(f, int64(most)+1)); err != nil {
		return nil, "", err
	}
	if len(data) > most {
		return nil, "", TooLarge{path, most}
	}
	return data, stranger(info), nil
}
