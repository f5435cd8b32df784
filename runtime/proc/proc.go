// Package proc starts programs that do not outlive the process that starts
// them, whatever ends it: their leader and what they start in their group end
// with it.
//
// A [Group] is ended by the system where it can (a parent-death signal on Linux,
// a job object on Windows), and on Unix by a guard beside it: a shell that holds
// the end of a pipe and ends the whole group when this process is gone. The
// guard also reaches what stands behind a wrapper, such as a sandbox, which the
// signal does not. It learns the group a moment after the program has started: if
// this process is killed in that moment, only the leader ends by itself.
package proc

import "errors"

// errNoGuard says that no guard could be started, as in a system without a shell.
var errNoGuard = errors.New("no guard could be started")
