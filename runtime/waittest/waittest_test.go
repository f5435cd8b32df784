package waittest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a test whose failure is read.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) {
	r.failed = fmt.Sprint(args...)
	panic(r)
}

func until(look func() (bool, any)) (failed string) {
	r := &recorder{}
	defer func() {
		recover()
		failed = r.failed
	}()
	Until(r, "the cat comes home", look)
	return ""
}

func TestUntilEndsWhenItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		since, looks := time.Now(), 0
		if failed := until(func() (bool, any) { looks++; return time.Since(since) >= 50*time.Second, nil }); failed != "" {
			t.Errorf("Until failed after 50 s: %s", failed)
		}
		if looks > 3000 {
			t.Errorf("it looked %d times in 50 s, want 20 ms between looks", looks)
		}
	})
}

func TestUntilFailsWithWhatWasSeenLast(t *testing.T) {
	for name, c := range map[string]struct {
		seen any
		want string
	}{
		"nothing":  {nil, "the cat comes home"},
		"a text":   {"a dog", "seen last: a dog"},
		"an error": {errors.New("no cat"), "seen last: no cat"},
		"a value":  {struct{ Legs int }{4}, "seen last: {Legs:4}"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failed := until(func() (bool, any) { return false, c.seen })
				if !strings.HasPrefix(failed, "waited 1m0s for this: the cat comes home") || !strings.HasSuffix(failed, c.want) {
					t.Errorf("Until says %q, want %q at its end", failed, c.want)
				}
			})
		})
	}
}

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

func TestNothingFailsWhenSomethingComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		Nothing(t, "silence", make(chan int))
		noise := make(chan int, 1)
		noise <- 7
		r := &recorder{}
		func() {
			defer func() { recover() }()
			Nothing(r, "silence", noise)
		}()
		if r.failed != "silence: came 7, want nothing" {
			t.Errorf("Nothing says %q", r.failed)
		}
	})
}

func TestSettledIsTheValueThatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		since := time.Now()
		got := Settled(t, "it stays", func() int { return int(min(time.Since(since), 2*time.Second) / (90 * time.Millisecond)) })
		if took := time.Since(since); got != 22 || took < 2*time.Second || took > 3*time.Second {
			t.Errorf("Settled = %d after %v, want 22 after 2 s", got, took)
		}
	})
}
