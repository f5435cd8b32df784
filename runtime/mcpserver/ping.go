package mcpserver

// ping writes a comment, which clients ignore, to an open stream, because some
// clients give up after minutes of silence (Node's fetch after five). If a tool's
// answer takes long, ping also opens its stream, because by then the call can no
// longer be refused. Other answers may still need a status.
func (o *outgoing) ping() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped {
		return
	}
	o.timer.Reset(o.every)
	if !o.passing && o.text.Len() == 0 && o.f.method == "tools/call" {
		o.passing, o.stream = true, true
		h := o.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache, no-transform")
	}
	if !o.stream {
		return
	}
	if _, err := o.w.Write([]byte(": ping\n\n")); err == nil {
		_ = o.flush() // the next write reports errors
	}
}

// stop ends the pings. It returns when no ping is being written.
func (o *outgoing) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stopped = true
	o.timer.Stop()
}
