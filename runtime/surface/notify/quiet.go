package notify

import (
	"fmt"
	"time"
)

// Quiet is the time of day, in the machine's local time, at which only urgent
// questions are announced. The zero value means no quiet hours.
type Quiet struct {
	from, to int // minutes since midnight; if equal, there are no quiet hours
}

// ParseQuiet parses quiet hours, for example 22:00-07:00. An empty string means no
// quiet hours.
func ParseQuiet(text string) (q Quiet, err error) {
	if text == "" {
		return Quiet{}, nil
	}
	var h [4]int
	n, err := fmt.Sscanf(text, "%d:%d-%d:%d", &h[0], &h[1], &h[2], &h[3])
	q = Quiet{h[0]*60 + h[1], h[2]*60 + h[3]}
	bad := fmt.Sprintf("%02d:%02d-%02d:%02d", h[0], h[1], h[2], h[3]) != text || h[0] > 23 || h[2] > 23 || h[1] > 59 || h[3] > 59
	if err != nil || n != 4 || bad {
		return Quiet{}, fmt.Errorf("%q does not have the form 22:00-07:00", text)
	}
	return q, nil
}

// Now reports whether these are quiet hours.
func (q Quiet) Now() bool { return q.Left(time.Now()) > 0 }

// Left returns how long the quiet hours last from now; 0 outside quiet hours.
func (q Quiet) Left(now time.Time) time.Duration {
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
