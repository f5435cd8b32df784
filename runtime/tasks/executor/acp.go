package executor

import "io"

// client is an agent over the Agent Client Protocol.
type client struct{ mode, auth string }

func (c *client) drive(r *Run, stdout io.Reader) Result {
	io.Copy(io.Discard, &rawTee{stdout, r.spec.Log})
	return Result{Failure: "the Agent Client Protocol is not in this build"}
}
