package artifact

// syncFolder does nothing, because Windows has no such call and records renames in its
// journal.
func syncFolder(string) error { return nil }

// forget does nothing: the system trims mapped pages by itself.
func forget([]byte, uint64, uint64) {}

// separate does nothing: the system maps only pages that are read.
func separate([]byte, uint64, uint64) {}
