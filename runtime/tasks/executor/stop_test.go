package executor

import "time"

// Stop ends the agent: by asking, after polite by telling, after firm by force.
// It waits until the agent has ended.
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
