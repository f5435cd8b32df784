package tasks

import "github.com/deskhand/deskhand/runtime/proc"

// killOrphans kills the processes of an attempt that have left their process
// group, or that were started a moment before their runner died: every process of
// an attempt has the attempt's id in its environment. It returns how many there were.
func killOrphans(attemptID string) int { return proc.KillMarked("DESKHAND_ATTEMPT_ID", attemptID) }
