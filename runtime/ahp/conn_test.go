package ahp

import "testing"

// A client that sends and never reads is not read either, once it has a queue
// of what is refused to it.
func TestRefusalsThatNobodyReadsAreBounded(t *testing.T) {
	c := newConn(nil, nil)
	refusal := make([]byte, 400<<10)
	n := 0
	for ; !c.full() && n < 100; n++ {
		c.push("x", 1, refusal, true)
	}
	if held := n * len(refusal); held > queueBytes+len(refusal) {
		t.Errorf("%d bytes are held for a client that does not read, want about %d", held, queueBytes)
	}
	c.take()
	c.caughtUp()
	c.take()
	if c.full() {
		t.Error("the reader waits for ever, though all was written")
	}
}
