package terminal

import "os"

// Open opens this process's console. If there is none, the error is
// [ErrNoTerminal].
func Open() (*Device, error) {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil, ErrNoTerminal
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		in.Close()
		return nil, ErrNoTerminal
	}
	return &Device{in, out}, nil
}
