// Package logs keeps what the processes of attempts say: for each process a raw
// log with the lines that it wrote, and a normalized one with what happened.
//
// A process has one [Writer], which takes entries as fast as the process makes
// them and stores them in batches. Anybody reads with [Read] and [Tail]. Raw
// bytes go to a [Spool] first, a file that survives the end of the writer:
// [Recover] puts into the log what the writer did not come to. Secrets are taken
// out before anything is written.
package logs

import (
	"embed"

	"github.com/deskhand/deskhand/runtime/store"
)

// Channel is one of the two logs of a process.
type Channel string

// The channels.
const (
	Normalized Channel = "normalized" // entries of type [Entry]
	Raw        Channel = "raw"        // lines, in JSON: see [Line]
)

// Topic is that of the room's events in the feed: for each process the newest
// batch, or that its logs have ended; their key is the id of the process.
const Topic = "logs"

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is what a store must be opened with for logs to work on it.
func Schema() store.Schema { return store.NewSchema("logs", migrations) }
