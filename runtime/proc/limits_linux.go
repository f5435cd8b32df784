package proc

import "os"

func systemMemory() uint64 { return memoryIn(os.DirFS("/")) }
