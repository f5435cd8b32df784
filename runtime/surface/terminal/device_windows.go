package terminal

import "os"

// Open opens the console of this process. The error is [ErrNoTerminal].
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
