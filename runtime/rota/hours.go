package rota

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Hours are times of a week by a wall clock: the same hours on some days. Hours that end
// before they begin end on the next day.
type Hours struct {
	Days     [7]bool // by time.Weekday: the days on which they begin
	From, To int     // minutes since midnight; To may be 1440
}

var days = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

var clock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d\d):(\d\d)-(\d\d):(\d\d)$`) })

// almostClock matches hours that somebody wrote in another form, such as 9-17 or 9am-5pm.
// Without it, they would be a name.
var almostClock = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i)\d{1,2}([.h]?\d\d)?(am|pm|h)?-\d{1,2}([.h]?\d\d)?(am|pm|h)?$`)
})

// ParseHours reads days, hours or both, for example "mon-fri 22:00-07:00", "sat,sun" or
// "22:00-07:00".
func ParseHours(text string) (h Hours, err error) {
	fields := strings.Fields(strings.ToLower(text))
	h = Hours{Days: [7]bool{true, true, true, true, true, true, true}, To: 24 * 60}
	bad := fmt.Errorf("%.80q does not have the form mon-fri 09:00-17:00", text)
	if len(fields) == 0 || len(fields) > 2 {
		return h, bad
	}
	if almostClock().MatchString(fields[0]) {
		return h, bad
	}
	if !clock().MatchString(fields[0]) {
		if h.Days, err = parseDays(fields[0]); err != nil {
			return h, err
		}
		fields = fields[1:]
	}
	if len(fields) == 0 {
		return h, nil
	}
	m := clock().FindStringSubmatch(fields[0])
	if m == nil || len(fields) > 1 {
		return h, bad
	}
	n := [4]int{}
	for i := range n {
		n[i], _ = strconv.Atoi(m[i+1]) // two digits
	}
	h.From, h.To = n[0]*60+n[1], n[2]*60+n[3]
	if n[1] > 59 || n[3] > 59 || h.From >= 24*60 || h.To > 24*60 {
		return h, bad
	}
	if h.From == h.To {
		return h, fmt.Errorf("%.80q begins and ends at the same time: for a whole day, write 00:00-24:00", text)
	}
	return h, nil
}

// parseDays reads days such as mon-fri or sat,sun. A range may go over the end of the week.
func parseDays(text string) (on [7]bool, err error) {
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, to := day(first), day(last)
		if from < 0 || to < 0 {
			return on, fmt.Errorf("%.80q is not a day: use mon, tue, wed, thu, fri, sat and sun, as mon-fri or sat,sun", part)
		}
		for d := from; ; d = (d + 1) % 7 {
			on[d] = true
			if d == to {
				break
			}
		}
	}
	return on, nil
}

func day(text string) int {
	for i, d := range days {
		if text == d {
			return i
		}
	}
	return -1
}

// Between returns when the hours apply, in a time zone, if they overlap a time. A wall
// clock's hour that does not exist on a day, because of daylight saving time, is taken as
// the hour after it. An hour that comes twice is taken once, always the same of the two. Where
// hours end and others begin, there is therefore never a gap.
func (h Hours) Between(from, to time.Time, zone *time.Location) (all []Span) {
	begin := from.In(zone)
	for d := -2; ; d++ {
		start := wall(begin, d, h.From, zone)
		if !start.Before(to) {
			return all
		}
		if !h.Days[wall(begin, d, 12*60, zone).Weekday()] {
			continue
		}
		last := d
		if h.To <= h.From {
			last++
		}
		if end := wall(begin, last, h.To, zone); end.After(from) && end.After(start) {
			all = append(all, Span{From: start, To: end})
		}
	}
}

// wall returns a time of the wall clock, days after the day of a time.
func wall(of time.Time, days, minutes int, zone *time.Location) time.Time {
	y, m, d := of.Date()
	return time.Date(y, m, d+days, minutes/60, minutes%60, 0, 0, zone)
}
