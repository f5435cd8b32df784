package notify

import (
	"fmt"
	"time"
)

// Quiet is the time of day in which only urgent questions are notified, in the
// machine's local time. The zero value is none.
type Quiet struct {
	from, to int // minutes of a day; equal: none
}

// ParseQuiet parses hours such as 22:00-07:00; an empty text is none.
func ParseQuiet(text string) (q Quiet, err error) {
	if text == "" {
		return Quiet{}, nil
	}
	var h [4]int
	n, err := fmt.Sscanf(text, "%d:%d-%d:%d", &h[0], &h[1], &h[2], &h[3])
	q = Quiet{h[0]*60 + h[1], h[2]*60 + h[3]}
	bad := fmt.Sprintf("%02d:%02d-%02d:%02d", h[0], h[1], h[2], h[3]) != text || h[0] > 23 || h[2] > 23 || h[1] > 59 || h[3] > 59
	if err != nil || n != 4 || bad {
		return Quiet{}, fmt.Errorf("%q is not of the form 22:00-07:00", text)
	}
	return q, nil
}

// left is how long it is still quiet at a time; 0 or less: it is not.
func (q Quiet) left(now time.Time) time.Duration {
	if q.from == q.to {
		return 0
	}
	minute := now.Hour()*60 + now.Minute()
	quiet := minute >= q.from && minute < q.to
	if q.from > q.to {
		quiet = minute >= q.from || minute < q.to
	}
	if !quiet {
		return 0
	}
	end := time.Date(now.Year(), now.Month(), now.Day(), q.to/60, q.to%60, 0, 0, now.Location())
	if !end.After(now) {
		end = time.Date(now.Year(), now.Month(), now.Day()+1, q.to/60, q.to%60, 0, 0, now.Location())
	}
	return end.Sub(now)
}
