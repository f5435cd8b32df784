package rota

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// shifts lists who is on call from a time on, in a zone.
func shifts(t *testing.T, text, from, zone string, n int) (lines []string) {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatalf("Parse(%q) = %v", text, err)
	}
	loc, err := Zone(zone)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.ParseInLocation("2006-01-02 15:04", from, loc)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Shifts(at, n) {
		var who []string
		for _, w := range s.Who {
			who = append(who, w.String())
		}
		lines = append(lines, fmt.Sprintf("%s %s", s.To.In(loc).Format("Mon 02 15:04 MST"), strings.Join(who, "+")))
	}
	return lines
}

const emptyCalendar = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//\r\n%sEND:VCALENDAR\r\n"

func calendar(events ...string) string {
	var text strings.Builder
	for i, e := range events {
		uid := fmt.Sprintf("UID:%d\r\n", i)
		if strings.Contains(e, "UID:") {
			uid = ""
		}
		text.WriteString("BEGIN:VEVENT\r\n" + uid + strings.ReplaceAll(e, "\n", "\r\n") + "\r\nEND:VEVENT\r\n")
	}
	return fmt.Sprintf(emptyCalendar, text.String())
}

func TestWhoIsOnCall(t *testing.T) {
	for name, c := range map[string]struct {
		text, from string
		want       []string
	}{
		"days and nights": {"zone Europe/Berlin\nmon-fri 09:00-17:00 ada\nmon-fri 17:00-09:00 bob, cleo # nights\n", "2026-11-23 12:00",
			[]string{"Mon 23 17:00 CET ada", "Tue 24 09:00 CET bob+cleo", "Tue 24 17:00 CET ada"}},
		"a gap at the weekend": {"zone Europe/Berlin\nmon-fri ada", "2026-11-27 12:00",
			[]string{"Sat 28 00:00 CET ada", "Mon 30 00:00 CET ", "Sat 05 00:00 CET ada"}},
		"lines that overlap": {"zone Europe/Berlin\nmon-sun 10:00-14:00 ada\nmon-sun 12:00-16:00 bob", "2026-11-23 10:00",
			[]string{"Mon 23 12:00 CET ada", "Mon 23 14:00 CET ada+bob", "Mon 23 16:00 CET bob", "Tue 24 10:00 CET "}},
		"days over the end of the week": {"zone Europe/Berlin\nsat-mon ada", "2026-11-22 00:00", []string{"Tue 24 00:00 CET ada", "Sat 28 00:00 CET "}},
		// 02:00 to 03:00 does not exist on 29 March 2026, and comes twice on 25 October.
		"the clock goes forward": {"zone Europe/Berlin\nmon-sun 22:00-02:30 ada\nmon-sun 02:30-22:00 bob", "2026-03-28 23:00",
			[]string{"Sun 29 03:30 CEST ada", "Sun 29 22:00 CEST bob"}},
		"the clock goes back": {"zone Europe/Berlin\nmon-sun 22:00-02:30 ada\nmon-sun 02:30-22:00 bob", "2026-10-24 23:00",
			[]string{"Sun 25 02:30 CET ada", "Sun 25 22:00 CET bob"}},
		"a calendar's weeks in turn": {calendar("DTSTART;TZID=Europe/Berlin:20261005T090000\nDTEND;TZID=Europe/Berlin:20261012T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2\nSUMMARY:ada",
			"DTSTART;TZID=Europe/Berlin:20261012T090000\nDURATION:P1W\nRRULE:FREQ=WEEKLY;INTERVAL=2\nSUMMARY:bob"), "2026-10-20 12:00",
			[]string{"Mon 26 09:00 CET ada", "Mon 02 09:00 CET bob"}}, // over the end of summer time: nine o'clock stays nine o'clock
		"a calendar of Outlook": {calendar("DTSTART;TZID=\"W. Europe Standard Time\":20261123T090000\nDURATION:PT8H\nSUMMARY:ada", "DTSTART;TZID=Eastern Standard Time:20261123T120000\nDURATION:PT1H\nSUMMARY:bob"), "2026-11-23 10:00",
			[]string{"Mon 23 17:00 CET ada", "Mon 23 18:00 CET ", "Mon 23 19:00 CET bob"}},
		"an exception and a replaced shift": {calendar("UID:a\nDTSTART:20261101T080000Z\nDTEND:20261101T160000Z\nRRULE:FREQ=DAILY;UNTIL=20261104T235959Z\nEXDATE:20261103T080000Z\nSUMMARY:ada",
			"UID:a\nRECURRENCE-ID:20261102T080000Z\nDTSTART:20261102T080000Z\nDTEND:20261102T160000Z\nSUMMARY:bob"), "2026-11-01 10:00",
			[]string{"Sun 01 17:00 CET ada", "Mon 02 09:00 CET ", "Mon 02 17:00 CET bob", "Wed 04 09:00 CET ", "Wed 04 17:00 CET ada"}},
		"whole days":          {calendar("DTSTART;VALUE=DATE:20261024\nDTEND;VALUE=DATE:20261026\nSUMMARY:ada"), "2026-10-24 12:00", []string{"Mon 26 01:00 CET ada", "Sat 28 11:00 CET "}},
		"a zone of the whole": {strings.Replace(calendar("DTSTART:20261123T090000\nDURATION:PT8H\nSUMMARY:ada"), "VERSION:2.0\r\n", "VERSION:2.0\r\nX-WR-TIMEZONE:America/New_York\r\n", 1), "2026-11-23 16:00", []string{"Mon 23 23:00 CET ada"}},
		"a cancelled shift":   {calendar("DTSTART:20261123T090000Z\nDURATION:PT8H\nSTATUS:CANCELLED\nSUMMARY:ada", "DTSTART:20261123T100000Z\nDURATION:PT1H\nSUMMARY:bob"), "2026-11-23 10:30", []string{"Mon 23 11:00 CET ", "Mon 23 12:00 CET bob"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shifts(t, c.text, c.from, "Europe/Berlin", len(c.want)); !slices.Equal(got, c.want) {
				t.Errorf("from %s:\n%s\nwant\n%s", c.from, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestAPersonOfAShiftIsFound(t *testing.T) {
	names := []string{"ada", "Bob", "cleo@example.org", "eve.hill"}
	for _, c := range []struct {
		who  Who
		want string
	}{
		{Who{"ADA"}, "ada"}, {Who{"bob@example.org", "Robert"}, "Bob"}, {Who{"cleo@example.org"}, "cleo@example.org"},
		{Who{"On Call - Ada Lovelace - Platform"}, "ada"}, {Who{"eve.hill (primary)"}, "eve.hill"}, {Who{"Adam"}, ""}, {Who{}, ""},
	} {
		if got := c.who.Match(names); got != c.want {
			t.Errorf("%q.Match = %q, want %q", c.who, got, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "empty",
		"mon ada\nfoo bar":              "line 2: \"foo\" is not a day",
		"mon-fri 09:00-25:00 ada":       "line 1",
		"mon-fri 09:00-17:00":           "line 1 names nobody",
		"mon-fri 9-17 ada":              "form mon-fri 09:00-17:00",
		"mon-fri 9am-5pm ada":           "form mon-fri 09:00-17:00",
		"9-17 ada":                      "form mon-fri 09:00-17:00",
		"mon 09:00-09:00 ada":           "same time",
		"zone Mars/Olympus\nmon ada":    "Mars/Olympus",
		"zone Local\nmon ada":           "not a time zone",
		strings.Repeat("x", MaxBytes+1): "maximum",
		calendar("DTSTART:20261123T090000Z\nDURATION:PT1H\nRRULE:FREQ=SECONDLY\nSUMMARY:ada"):               "within a day",
		calendar("DTSTART:20261123T090000Z\nDURATION:PT1H\nRRULE:FREQ=NEVER\nSUMMARY:ada"):                  "rule",
		calendar("DTSTART;TZID=Mars:20261123T090000\nDURATION:PT1H\nSUMMARY:ada"):                           "not a time zone",
		calendar("DTSTART:19700101T000000Z\nDURATION:PT1H\nSUMMARY:ada"):                                    "not a time after",
		calendar("DTSTART:20261123T090000Z\nDTEND:20261122T090000Z\nSUMMARY:ada"):                           "ends before",
		calendar("DTSTART:20261123T090000Z\nDURATION:PT1H"):                                                 "no event",
		calendar("DTSTART:20261123T090000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY\nSUMMARY:a"): "two rules",
		"BEGIN:VCALENDAR\nBEGIN:VEVENT":                                                                     "cannot be read",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.60q) = %v, want %q", text, err, want)
		}
	}
}

// A rule that never applies ends, and an event of many shifts is bounded.
func TestARuleThatNeverAppliesEnds(t *testing.T) {
	began := time.Now()
	shifts(t, calendar("DTSTART:20261123T090000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30\nSUMMARY:ada"), "2026-11-23 12:00", "UTC", 3)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func FuzzRota(f *testing.F) {
	f.Add("zone Europe/Berlin\nmon-fri 09:00-17:00 ada, bob\nsat-sun ada")
	f.Add(calendar("DTSTART;TZID=Europe/Berlin:20261005T090000\nDTEND;TZID=Europe/Berlin:20261012T090000\nRRULE:FREQ=WEEKLY;INTERVAL=2;UNTIL=20270101\nATTENDEE;CN=Ada:mailto:ada@example.org\nEXDATE:20261019T070000Z"))
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
		all := r.Shifts(at, 50)
		if len(all) == 0 || all[0].From.After(at) || len(all) < 50 && !all[len(all)-1].To.Equal(at.Add(Ahead)) {
			t.Fatalf("Shifts = %v", all)
		}
		for i := 1; i < len(all); i++ {
			if !all[i].From.Equal(all[i-1].To) {
				t.Fatalf("a hole between %v and %v", all[i-1], all[i])
			}
		}
	})
}

// Every name in the table of Windows is a zone that exists.
func TestZonesOfWindowsExist(t *testing.T) {
	for name := range windowsZones {
		if _, err := Zone(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(windowsZones) < 80 {
		t.Errorf("the table has %d zones", len(windowsZones))
	}
}
