package rota

import (
	"fmt"
	"strings"
	"time"
)

// maxLines is the maximum number of lines of a weekly table.
const maxLines = 500

// parseWeekly reads a table. Each line has days, optional hours and names, for example
// "mon-fri 09:00-17:00 ada, bob"; "zone Europe/Berlin" sets the time zone, which is UTC
// otherwise; # begins a comment. Where lines overlap, all their people are on call.
func parseWeekly(text string) (*Rota, error) {
	type line struct {
		hours Hours
		who   []Who
	}
	zone := time.UTC
	var table []line
	for i, text := range strings.Split(text, "\n") {
		text, _, _ = strings.Cut(text, "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if len(table) >= maxLines {
			return nil, fmt.Errorf("line %d: a weekly table has at most %d lines", i+1, maxLines)
		}
		if strings.EqualFold(fields[0], "zone") {
			if len(fields) != 2 {
				return nil, fmt.Errorf("line %d: write zone and one time zone, for example zone Europe/Berlin", i+1)
			}
			var err error
			if zone, err = Zone(fields[1]); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			continue
		}
		when := 1
		if len(fields) > 1 && (strings.Contains(fields[1], ":") || almostClock().MatchString(fields[1])) && !clock().MatchString(fields[0]) {
			when = 2
		}
		hours, err := ParseHours(strings.Join(fields[:when], " "))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		one := line{hours: hours}
		for _, name := range strings.FieldsFunc(strings.Join(fields[when:], " "), func(c rune) bool { return c == ',' || c == ' ' }) {
			one.who = append(one.who, Who{name})
		}
		if len(one.who) == 0 {
			return nil, fmt.Errorf("line %d names nobody: write for example mon-fri 09:00-17:00 ada", i+1)
		}
		table = append(table, one)
	}
	if len(table) == 0 {
		return nil, fmt.Errorf("the rota is empty: write lines such as mon-fri 09:00-17:00 ada")
	}
	return &Rota{spans: func(from, to time.Time) (all []Span) {
		for _, l := range table {
			for _, s := range l.hours.Between(from, to, zone) {
				s.Who = l.who
				all = append(all, s)
			}
		}
		return all
	}}, nil
}

// Zone returns a time zone by its name in the tz database, for example Europe/Berlin.
func Zone(name string) (*time.Location, error) {
	if standard, found := windowsZones[strings.ToLower(name)]; found {
		name = standard
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("%.80q is not a time zone: use a name such as Europe/Berlin or UTC", name)
	}
	return zone, nil
}
