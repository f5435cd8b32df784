package executor

import "time"

// Stop stops the agent: first with an interrupt, after polite with a termination
// signal, and after firm with a kill. It waits until the agent has exited.
func (r *Run) Stop(polite, firm time.Duration) Result {
	for _, step := range []struct {
		do   func()
		wait time.Duration
	}{{r.Interrupt, polite}, {r.Terminate, firm}} {
		select {
		case <-r.done:
			return r.result
		default:
		}
		step.do()
		select {
		case <-r.done:
			return r.result
		case <-time.After(step.wait):
		}
	}
	r.Kill()
	return r.Wait()
}
