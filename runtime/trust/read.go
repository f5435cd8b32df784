package trust

import (
	"fmt"
	"io"
)

// TooLarge is the error that ReadFile returns for a file that has more than Max
// bytes.
type TooLarge struct {
	Path string
	Max  int
}

func (e TooLarge) Error() string { return fmt.Sprintf("%s has more than %d bytes", e.Path, e.Max) }

// ReadFile reads a regular file and returns its data and owner. owner is empty if
// the file belongs to root or this process's user. Data and owner come from the
// same open file, even if the path is replaced in the meantime. ReadFile returns
// an error for pipes and devices, without waiting for them, and a [TooLarge] for
// a file that exceeds the given size in bytes.
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
