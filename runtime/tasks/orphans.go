package tasks

import "github.com/deskhand/deskhand/runtime/proc"

// killOrphans kills the processes of an attempt that have left their process
// group, or that were started just before their runner died. It finds them by
// the attempt's ID, which is in the environment of every process of the
// attempt. It returns the number of killed processes.
func killOrphans(attemptID string) int { return proc.KillMarked("DESKHAND_ATTEMPT_ID", attemptID) }
