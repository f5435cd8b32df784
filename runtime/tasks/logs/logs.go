// Package logs stores the output of an attempt's processes. Each process has a raw log
// with the lines that it wrote, and a normalized log with events.
//
// A process has one [Writer], which accepts entries as fast as the process
// writes them and stores them in batches. Any process can read entries with
// [Read] and [Tail]. Raw bytes first go to a [Spool], a file that survives the
// writer. If a writer was killed, [Recover] copies the lines that it had not
// stored from the spool to the log. Secrets are removed before anything is
// written.
package logs

import (
	"embed"

	"github.com/deskhand/deskhand/runtime/store"
)

// Channel names one of the two logs of a process.
type Channel string

// The channels.
const (
	Normalized Channel = "normalized" // entries of type [Entry]
	Raw        Channel = "raw"        // lines as JSON: see [Line]
)

// Topic is the feed topic of this package's events. An event reports the newest
// batch of a process, or the end of the process's logs. An event's key is the
// process's ID.
const Topic = "logs"

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the schema that the store must be opened with.
func Schema() store.Schema { return store.NewSchema("logs", migrations) }
