package tasks

import "github.com/deskhand/deskhand/runtime/proc"

// killOrphans kills the processes of an attempt that have left their process group, or
// that were started just before their runner died. Every process of an attempt has the
// attempt's ID in its environment. killOrphans returns the number of killed processes.
func killOrphans(attemptID string) int { return proc.KillMarked("DESKHAND_ATTEMPT_ID", attemptID) }
