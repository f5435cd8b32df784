package rota

import (
	"fmt"
	"slices"
	"strings"
	"time"

	_ "time/tzdata" // time zones, also where the system has none

	ics "github.com/arran4/golang-ical"
	"github.com/teambition/rrule-go"
)

// Limits of a calendar. They keep one from another server from taking long.
const (
	maxEvents   = 5000
	maxDates    = 2000 // of one event
	maxShift    = 35 * 24 * time.Hour
	earliest    = 1990
	mostOfEvent = 5000 // shifts of one event in the time that is read
)

// event is an event of a calendar.
type event struct {
	uid      string
	start    time.Time
	length   func(start time.Time) time.Time // returns the end
	rule     *rrule.RRule                    // nil if it does not repeat
	more     []time.Time                     // RDATE
	without  []time.Time                     // EXDATE, and the instances that others replace
	instance time.Time                       // RECURRENCE-ID; zero if it replaces none
	who      []Who
}

// parseCalendar reads a calendar. Each event is a shift. Its attendees are on call, or whom
// its title names if it has none.
func parseCalendar(text string) (r *Rota, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("the calendar cannot be read: %v", p)
		}
	}()
	c, err := ics.ParseCalendar(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("the calendar cannot be read: %w", err)
	}
	home := time.UTC
	for _, p := range c.CalendarProperties {
		if p.IANAToken == "X-WR-TIMEZONE" {
			if home, err = Zone(p.Value); err != nil {
				return nil, err
			}
		}
	}
	var all []event
	for _, v := range c.Events() {
		if len(all) >= maxEvents {
			return nil, fmt.Errorf("the calendar has more than %d events", maxEvents)
		}
		if p := v.GetProperty(ics.ComponentPropertyStatus); p != nil && strings.EqualFold(p.Value, "CANCELLED") && v.GetProperty(ics.ComponentPropertyRecurrenceId) == nil {
			continue
		}
		e, err := readEvent(v, home)
		if err != nil {
			return nil, fmt.Errorf("event %.80q: %w", title(v), err)
		}
		all = append(all, e)
	}
	for _, e := range all { // an instance that was changed replaces the one of its series
		for i := range all {
			if !e.instance.IsZero() && all[i].uid == e.uid && all[i].instance.IsZero() {
				all[i].without = append(all[i].without, e.instance)
			}
		}
	}
	all = slices.DeleteFunc(all, func(e event) bool { return len(e.who) == 0 })
	if len(all) == 0 {
		return nil, fmt.Errorf("the calendar has no event with a title or an attendee")
	}
	return &Rota{Calendar: true, spans: func(from, to time.Time) (spans []Span) {
		for _, e := range all {
			spans = append(spans, e.between(from, to)...)
		}
		return spans
	}}, nil
}

func title(v *ics.VEvent) string {
	if p := v.GetProperty(ics.ComponentPropertySummary); p != nil {
		return p.Value
	}
	return v.Id()
}

func readEvent(v *ics.VEvent, home *time.Location) (e event, err error) {
	start := v.GetProperty(ics.ComponentPropertyDtStart)
	if start == nil {
		return e, fmt.Errorf("it has no DTSTART")
	}
	e.uid = v.Id()
	if e.start, err = moment(start.Value, start.ICalParameters, home); err != nil {
		return e, err
	}
	if e.length, err = lengthOf(v, e.start, len(start.Value) == len("20060102"), home); err != nil {
		return e, err
	}
	zone := e.start.Location()
	for _, p := range v.GetProperties(ics.ComponentPropertyRrule) {
		if e.rule != nil {
			return e, fmt.Errorf("it has two rules")
		}
		if e.rule, err = ruleOf(p.Value, e.start, zone); err != nil {
			return e, err
		}
	}
	if e.more, err = moments(v, ics.ComponentPropertyRdate, zone); err != nil {
		return e, err
	}
	if e.without, err = moments(v, ics.ComponentPropertyExdate, zone); err != nil {
		return e, err
	}
	if p := v.GetProperty(ics.ComponentPropertyRecurrenceId); p != nil {
		if e.instance, err = moment(p.Value, p.ICalParameters, zone); err != nil {
			return e, err
		}
		if s := v.GetProperty(ics.ComponentPropertyStatus); s != nil && strings.EqualFold(s.Value, "CANCELLED") {
			return e, nil // without people: the instance is gone
		}
	}
	for _, p := range v.GetProperties(ics.ComponentPropertyAttendee) {
		var who Who
		if value := p.Value; len(value) > 7 && strings.EqualFold(value[:7], "mailto:") {
			who = append(who, value[7:])
		}
		who = append(who, p.ICalParameters["CN"]...)
		if len(who) > 0 {
			e.who = append(e.who, who)
		}
	}
	if p := v.GetProperty(ics.ComponentPropertySummary); p != nil && len(e.who) == 0 && strings.TrimSpace(p.Value) != "" {
		e.who = []Who{{strings.TrimSpace(p.Value)}}
	}
	return e, nil
}

// lengthOf returns how an event's end follows from its start. An end by the wall clock stays
// at its hour when a series goes over a change of the clock, as calendars show it, so that
// shifts that follow each other leave no gap.
func lengthOf(v *ics.VEvent, start time.Time, whole bool, home *time.Location) (func(time.Time) time.Time, error) {
	days, long := 0, time.Duration(0)
	end, lasts := v.GetProperty(ics.ComponentPropertyDtEnd), v.GetProperty(ics.ComponentPropertyDuration)
	switch {
	case end != nil:
		at, err := moment(end.Value, end.ICalParameters, home)
		if err != nil {
			return nil, err
		}
		if long = at.Sub(start); long <= 0 || long > maxShift {
			break
		}
		at = at.In(start.Location())
		days = int(midnight(at).Sub(midnight(start)) / (24 * time.Hour))
		hour, minute, second := at.Clock()
		return func(s time.Time) time.Time {
			y, m, d := s.Date()
			return time.Date(y, m, d+days, hour, minute, second, 0, s.Location())
		}, nil
	case lasts != nil:
		var err error
		if days, long, err = duration(lasts.Value); err != nil {
			return nil, err
		}
		whole = whole || days > 0 && long == 0
	case whole:
		days = 1
	}
	if days < 0 || long < 0 || days == 0 && long == 0 {
		return nil, fmt.Errorf("it ends before it begins, or at once")
	}
	if long > maxShift || days > int(maxShift/(24*time.Hour)) {
		return nil, fmt.Errorf("it is longer than %d days", int(maxShift/(24*time.Hour)))
	}
	if whole {
		return func(s time.Time) time.Time { return s.AddDate(0, 0, days) }, nil
	}
	return func(s time.Time) time.Time { return s.AddDate(0, 0, days).Add(long) }, nil
}

// midnight returns the day of a time, for counting days.
func midnight(at time.Time) time.Time {
	y, m, d := at.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// duration reads days, and the rest exactly: P1D, P1W, PT8H30M.
func duration(text string) (days int, rest time.Duration, err error) {
	bad := fmt.Errorf("%.40q is not a duration", text)
	date, clock, _ := strings.Cut(strings.TrimPrefix(text, "+"), "T")
	if !strings.HasPrefix(date, "P") || len(text) > 40 {
		return 0, 0, bad
	}
	n := 0
	for _, c := range date[1:] {
		switch {
		case c >= '0' && c <= '9' && n < 1e6:
			n = n*10 + int(c-'0')
		case c == 'D':
			days, n = days+n, 0
		case c == 'W':
			days, n = days+7*n, 0
		default:
			return 0, 0, bad
		}
	}
	if clock != "" {
		if rest, err = time.ParseDuration(strings.ToLower(clock)); err != nil {
			return 0, 0, bad
		}
	}
	return days, rest, nil
}

// ruleOf reads a rule. A rule that repeats within a day, or that began long ago, could take
// long to follow.
func ruleOf(text string, start time.Time, zone *time.Location) (*rrule.RRule, error) {
	o, err := rrule.StrToROptionInLocation(text, zone)
	if err != nil {
		return nil, fmt.Errorf("the rule %.200q cannot be read: %w", text, err)
	}
	if o.Freq > rrule.DAILY {
		return nil, fmt.Errorf("the rule %.200q repeats within a day", text)
	}
	if !o.Until.IsZero() && !strings.Contains(strings.ToUpper(text[strings.Index(strings.ToUpper(text), "UNTIL="):]), "T") {
		o.Until = o.Until.AddDate(0, 0, 1).Add(-time.Second) // a date includes its day
	}
	o.Dtstart = start
	r, err := rrule.NewRRule(*o)
	if err != nil {
		return nil, fmt.Errorf("the rule %.200q cannot be followed: %w", text, err)
	}
	return r, nil
}

// moments reads a property that has several times.
func moments(v *ics.VEvent, name ics.ComponentProperty, zone *time.Location) (all []time.Time, err error) {
	for _, p := range v.GetProperties(name) {
		for _, text := range strings.Split(p.Value, ",") {
			text, _, _ = strings.Cut(text, "/") // a period: its start
			at, err := moment(text, p.ICalParameters, zone)
			if err != nil {
				return nil, err
			}
			if all = append(all, at); len(all) > maxDates {
				return nil, fmt.Errorf("it has more than %d dates", maxDates)
			}
		}
	}
	return all, nil
}

// moment reads a time: in UTC, in a named zone, or by the wall clock of the calendar.
func moment(text string, parameters map[string][]string, home *time.Location) (at time.Time, err error) {
	zone := home
	if names := parameters["TZID"]; len(names) > 0 {
		if zone, err = Zone(strings.TrimPrefix(strings.Trim(names[0], `"`), "/")); err != nil {
			return at, err
		}
	}
	layout := "20060102T150405"
	switch {
	case strings.HasSuffix(text, "Z"):
		layout, zone = layout+"Z", time.UTC
	case len(text) == len("20060102"):
		layout = "20060102"
	}
	at, err = time.ParseInLocation(layout, text, zone)
	if err != nil || at.Year() < earliest || at.Year() > 9000 {
		return at, fmt.Errorf("%.40q is not a time after %d", text, earliest)
	}
	return at, nil
}

// between returns the event's shifts that overlap a time.
func (e event) between(from, to time.Time) (all []Span) {
	starts := append([]time.Time{e.start}, e.more...)
	if e.rule != nil {
		next := e.rule.Iterator()
		for at, ok := next(); ok && at.Before(to) && len(starts) < mostOfEvent; at, ok = next() {
			if at.After(from.Add(-maxShift - 25*time.Hour)) {
				starts = append(starts, at)
			}
		}
	}
	slices.SortFunc(starts, time.Time.Compare)
	for _, at := range slices.CompactFunc(starts, time.Time.Equal) {
		end := e.length(at)
		if !at.Before(to) || !end.After(from) || slices.ContainsFunc(e.without, at.Equal) {
			continue
		}
		all = append(all, Span{From: at, To: end, Who: e.who})
	}
	return all
}
