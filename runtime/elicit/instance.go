package elicit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
)

// newInstance returns a name for a hub that no other hub has. Other processes of this machine
// see from it whether the hub's process has exited.
func newInstance() string {
	self := proc.Self()
	return strings.Join([]string{"hub_" + rand.Text(), strconv.Itoa(self.PID), shortHash(self.Boot()), shortHash(self.StartTime)}, ".")
}

// shortHash returns a part of a digest, so that a name does not say what a machine is called.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// exitedHere reports whether the process of a hub has exited. known is false if it belongs to
// another machine or container, or if this system does not tell.
func exitedHere(instance string) (exited, known bool) {
	parts, self := strings.Split(instance, "."), proc.Self()
	if len(parts) != 4 || self.Boot() == "" || parts[2] != shortHash(self.Boot()) {
		return false, false
	}
	pid, err := strconv.Atoi(parts[1])
	return err == nil && shortHash(proc.StartTime(pid)) != parts[3], err == nil
}

// Times to find out whether an asker on another machine is alive. It renews its lease every
// renewEvery.
const (
	askerSilent = renewEvery + 2*time.Second
	askerLook   = 250 * time.Millisecond
)

// askerDied reports whether the process that waits for a question's answer has died, also
// while its lease is in force. For a process on another machine, it waits until the process
// renews the lease, or has not done so for askerSilent.
func (h *Hub) askerDied(ctx context.Context, instance string) (bool, error) {
	if instance == h.instance || instance == "" { // nobody says to wait
		return false, nil
	}
	if exited, known := exitedHere(instance); known {
		return exited, nil
	}
	var first time.Time
	for {
		var lease store.Lease
		var now time.Time
		err := h.db.View(ctx, func(tx *store.Tx) (err error) {
			now = tx.Now
			lease, err = tx.Lease(ctx, askerPrefix+instance)
			return err
		})
		switch {
		case err != nil:
			return false, fmt.Errorf("read an asker's lease: %w", err)
		case !lease.Until.After(now) || now.Sub(lease.Until.Add(-leaseTime)) >= askerSilent:
			return true, nil
		case first.IsZero():
			first = lease.Until
		case lease.Until.After(first):
			return false, nil
		}
		select {
		case <-time.After(askerLook):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
