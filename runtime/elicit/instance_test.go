package elicit

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// A dead asker is known by its process on this machine, and otherwise by the lease that it
// does not renew.
func TestADeadAskerIsKnownBeforeItsLeaseEnds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db, err := store.Open(t.Context(), place, Schema())
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		h := New(db, Options{})
		defer h.Close()
		died := func(instance string) bool {
			t.Helper()
			is, err := h.askerDied(t.Context(), instance)
			if err != nil {
				t.Fatal(err)
			}
			return is
		}
		claim := func(instance string, ttl time.Duration) {
			t.Helper()
			if _, _, err := db.Claim(t.Context(), store.Lease{Name: askerPrefix + instance, Holder: instance}, ttl); err != nil {
				t.Fatal(err)
			}
		}
		if died(h.instance) || died(newInstance()) {
			t.Error("a hub of this process is dead")
		}
		if proc.Self().Boot() != "" {
			cmd := exec.Command("sleep", "60")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			leader := proc.LeaderOf(cmd.Process.Pid)
			parts := strings.Split(newInstance(), ".")
			other := strings.Join([]string{parts[0], strconv.Itoa(leader.PID), parts[2], shortHash(leader.StartTime)}, ".")
			claim(other, leaseTime)
			if died(other) {
				t.Error("a running process is dead")
			}
			cmd.Process.Kill()
			cmd.Wait()
			if !died(other) {
				t.Error("a killed process is not dead, because its lease is in force")
			}
		}
		const far = "hub_FAR.1.aaaaaaaaaaaa.bbbbbbbbbbbb"
		if !died(far) {
			t.Error("without a lease, an asker is not dead")
		}
		claim(far, leaseTime-askerSilent+time.Second) // as if it were renewed some time ago
		since := time.Now()
		if !died(far) || time.Since(since) > 5*time.Second {
			t.Errorf("a silent asker on another machine: not dead after %v", time.Since(since))
		}
		claim(far, leaseTime)
		looked, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for again := time.NewTicker(askerLook / 5); ; { // at least once between two looks
				select {
				case <-looked:
					return
				case <-again.C:
					if _, _, err := db.Claim(t.Context(), store.Lease{Name: askerPrefix + far, Holder: far}, leaseTime); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}()
		if died(far) {
			t.Error("an asker that renews its lease is dead")
		}
		close(looked)
		<-ended
	})
}
