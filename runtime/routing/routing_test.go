package routing

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deskhand/deskhand/runtime/rota"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

// team is ada and bob in turn on call, bob asleep at night in Berlin, and lea, who leads.
func team(t testing.TB) World {
	t.Helper()
	ops, err := rota.Parse("mon-fri 09:00-17:00 ada\nmon-fri 17:00-09:00 bob")
	if err != nil {
		t.Fatal(err)
	}
	ghosts, err := rota.Parse("mon-sun zed")
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := ParseQuiet("22:00-07:00", "Europe/Berlin", "high")
	if err != nil {
		t.Fatal(err)
	}
	return World{People: []Person{{Name: "ada"}, {Name: "bob", Quiet: quiet}, {Name: "lea", Roles: []string{"lead"}}},
		Rotas: map[string]*rota.Rota{"ops": ops, "ghosts": ghosts}}
}

// words tells a decision in one line.
func words(s State, notices []Notice) string {
	var told []string
	for _, n := range notices {
		who := n.Person
		if who == "" {
			who = "*"
		}
		told = append(told, who+" "+n.At.Format("02 15:04"))
	}
	may := slices.Concat(s.People, s.Roles)
	if s.Everyone {
		may = append(may, "everyone")
	}
	next := "-"
	if !s.Next.IsZero() {
		next = s.Next.Format("02 15:04")
	}
	return fmt.Sprintf("%d to %s, may %s, tells %s, next %s %s", s.Done, s.To, strings.Join(may, "+"), strings.Join(told, ", "), next, s.NextTo)
}

func TestDecide(t *testing.T) {
	const usual = "30m rota:ops, 2h role:lead"
	for name, c := range map[string]struct {
		asked   Target
		policy  string
		created string
		urgency int
		times   []string // of the decisions; the first is when it is asked
		taken   string   // by ada, before the second decision
		lacking string
		want    []string
		note    string
	}{
		"the steps of the issue": {policy: usual, created: "2026-11-23 12:00", urgency: 1, times: []string{"2026-11-23 12:00", "2026-11-23 12:30", "2026-11-23 14:00"},
			want: []string{"0 to everyone, may everyone, tells , next 23 12:30 rota:ops", "1 to rota:ops (ada), may everyone+ada, tells  23 12:30, ada 23 12:30, next 23 14:00 role:lead",
				"2 to role:lead, may lead+everyone+ada, tells"}},
		"nothing is due twice": {policy: usual, created: "2026-11-23 12:00", urgency: 1, times: []string{"2026-11-23 12:00", "2026-11-23 12:30", "2026-11-23 12:30"},
			want: []string{"0 ", "1 ", "1 to rota:ops (ada), may ada+everyone, tells , next 23 14:00 role:lead"}},
		"late steps are taken together": {asked: Target{Person: "ada"}, policy: usual, created: "2026-11-23 09:00", urgency: 1, times: []string{"2026-11-23 09:00", "2026-11-23 18:00"},
			want: []string{"0 to ada, may ada, tells , next 23 09:30 rota:ops", "2 to role:lead, may ada+bob+lead, tells * 23 18:00, bob 23 18:00, lea 23 18:00, next 24 09:00 "}},
		"a shift ends": {asked: Target{Rota: "ops"}, created: "2026-11-23 16:00", urgency: 1, times: []string{"2026-11-23 16:00", "2026-11-23 17:00"},
			want: []string{"0 to rota:ops (ada), may ada, tells , next 23 17:00 ", "0 to rota:ops (bob), may bob, tells bob 23 17:00, next 24 09:00 "}},
		"a gap of the rota": {asked: Target{Rota: "ops"}, created: "2026-11-21 16:00", urgency: 1, times: []string{"2026-11-21 16:00", "2026-11-23 09:00"},
			want: []string{"0 to everyone, may everyone, tells , next 23 09:00 ", "0 to rota:ops (ada), may ada, tells ada 23 09:00, next 23 17:00 "}},
		"on call is no person": {asked: Target{Rota: "ghosts"}, created: "2026-11-23 12:00", urgency: 1, times: []string{"2026-11-23 12:00"},
			want: []string{"0 to everyone, may everyone"}, note: "zed, on call in the rota ghosts, cannot be asked here: everyone of the project is asked"},
		"a role that nobody has": {asked: Target{Person: "ada"}, policy: "30m role:gone", created: "2026-11-23 12:00", urgency: 1, times: []string{"2026-11-23 12:00", "2026-11-23 12:30"},
			want: []string{"0 ", "1 to everyone, may ada+everyone, tells * 23 12:30, ada 23 12:30, bob 23 12:30, lea 23 12:30"}, note: "nobody with the role gone can be asked: everyone of the project is asked"},
		"a reminder waits in quiet hours": {asked: Target{Person: "bob"}, policy: "30m remind, 2h role:lead", created: "2026-11-23 22:00", urgency: 1, times: []string{"2026-11-23 22:00", "2026-11-23 22:30"},
			want: []string{"0 to bob, may bob, tells bob 24 06:00, next 23 22:30 remind", "1 to bob, may bob, tells * 24 06:00, bob 24 06:00, next 24 00:00 role:lead"}},
		"a reminder in quiet hours goes to the next step": {asked: Target{Person: "bob"}, policy: "30m remind, 2h role:lead, quiet next", created: "2026-11-23 22:00", urgency: 1, times: []string{"2026-11-23 22:00", "2026-11-23 22:30"},
			want: []string{"0 ", "2 to role:lead, may bob+lead, tells * 23 22:30, lea 23 22:30, next - "}},
		"there is no next step": {asked: Target{Person: "bob"}, policy: "30m remind, quiet next", created: "2026-11-23 22:00", urgency: 1, times: []string{"2026-11-23 22:00", "2026-11-23 22:30"},
			want: []string{"0 ", "1 to bob, may bob, tells * 24 06:00, bob 24 06:00, next - "}},
		"urgent enough for quiet hours": {asked: Target{Person: "bob"}, policy: "30m remind", created: "2026-11-23 22:00", urgency: 2, times: []string{"2026-11-23 22:00", "2026-11-23 22:30"},
			want: []string{"0 ", "1 to bob, may bob, tells * 23 22:30, bob 23 22:30, next - "}},
		// Berlin's clock goes forward on 29 March 2026, so seven o'clock is 05:00 UTC, and back on 25 October.
		"quiet hours end in summer time": {asked: Target{Person: "bob"}, policy: "30m remind", created: "2026-03-28 23:00", urgency: 1, times: []string{"2026-03-28 23:00", "2026-03-28 23:30"},
			want: []string{"0 ", "1 to bob, may bob, tells * 29 05:00, bob 29 05:00, next - "}},
		"quiet hours end in winter time": {asked: Target{Person: "bob"}, policy: "30m remind", created: "2026-10-24 23:00", urgency: 1, times: []string{"2026-10-24 23:00", "2026-10-24 23:30"},
			want: []string{"0 ", "1 to bob, may bob, tells * 25 06:00, bob 25 06:00, next - "}},
		"a taken question waits": {policy: usual, created: "2026-11-23 12:00", urgency: 1, times: []string{"2026-11-23 12:00", "2026-11-23 12:30", "2026-11-23 12:40"}, taken: "2026-11-23 12:10",
			want: []string{"0 ", "0 to everyone, may everyone, tells , next 23 12:40 rota:ops", "1 to rota:ops (ada), may ada+everyone, tells * 23 12:40, ada 23 12:40, next 23 14:00 role:lead"}},
		"nobody of the audience can be reached": {asked: Target{Person: "eve"}, policy: usual, created: "2026-11-23 12:00", urgency: 1, lacking: "eve is away", times: []string{"2026-11-23 12:00", "2026-11-23 12:30"},
			want: []string{"1 to rota:ops (ada), may ada, tells", "1 to rota:ops (ada), may ada, tells , next 23 14:00 role:lead"}, note: "eve is away"},
	} {
		t.Run(name, func(t *testing.T) {
			q := Question{Asked: c.asked, Urgency: c.urgency, Created: at(c.created), Fresh: true, State: State{Policy: c.policy, New: true, Lacking: c.lacking}}
			for i, text := range c.times {
				if i == 1 && c.taken != "" {
					from := at(c.taken)
					q.Taken = &Taken{By: "ada", At: from, Until: from.Add(TakeTime)}
				}
				s, notices := Decide(q, team(t), at(text))
				got := words(s, notices)
				want := strings.ReplaceAll(c.want[i], "tells  ", "tells * ")
				if !strings.HasPrefix(normal(got), normal(want)) {
					t.Errorf("at %s:\n%s, want\n%s", text, got, want)
				}
				q.State, q.Fresh = s, false
			}
			if c.note != "" && q.Note != c.note {
				t.Errorf("the note is %q, want %q", q.Note, c.note)
			}
		})
	}
}

// normal sorts who may answer.
func normal(line string) string {
	before, rest, ok := strings.Cut(line, ", may ")
	may, after, _ := strings.Cut(rest, ",")
	if !ok {
		return line
	}
	names := strings.Split(may, "+")
	slices.Sort(names)
	return before + ", may " + strings.Join(names, "+") + "," + after
}

// A virtual clock runs through a day, with a decision whenever one is due: each person is
// notified once for each step.
func TestADayNotifiesOncePerStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, told := team(t), map[string]int{}
		q := Question{Asked: Target{Person: "ada"}, Urgency: 1, Created: time.Now(), Fresh: true, State: State{Policy: "10m remind, 30m bob, 2h role:lead, 5h everyone", New: true}}
		for range 100 {
			s, notices := Decide(q, w, time.Now())
			for _, n := range notices {
				told[n.Person]++
			}
			q.State, q.Fresh = s, false
			if s.Next.IsZero() {
				break
			}
			time.Sleep(time.Until(s.Next))
		}
		if got := fmt.Sprint(told); got != "map[:4 ada:2 bob:2 lea:2]" || q.Done != 4 || time.Since(q.Created) != 5*time.Hour {
			t.Errorf("notified %s after %v and %d steps", got, time.Since(q.Created), q.Done)
		}
	})
}

func TestParsePolicy(t *testing.T) {
	for text, want := range map[string]string{
		"30m rota:ops, 2h role:lead": "30m rota:ops, 2h role:lead", "": "", "90m remind,1d everyone,quiet next": "1h30m remind, 24h everyone, quiet next", "1h ada@example.org, quiet wait": "1h ada@example.org",
	} {
		p, err := ParsePolicy(text)
		if err != nil || p.String() != want {
			t.Errorf("ParsePolicy(%q) = %q, %v; want %q", text, p, err, want)
		}
	}
	for _, text := range []string{"30m", "rota:ops 30m", "2h ada, 1h bob", "1h ada, 1h bob", "-1h ada", "31d ada", "1h role:", "1h rota:a b", "1h a,, 2h b", "quiet sometimes", "quiet next, 1h ada", strings.Repeat("1h ada,", 30)} {
		if p, err := ParsePolicy(text); err == nil {
			t.Errorf("ParsePolicy(%q) = %v, want an error", text, p)
		}
	}
}

func TestParseQuiet(t *testing.T) {
	q, err := ParseQuiet("22:00-07:00, sat,sun; mon 07:00-08:00", "Europe/Berlin", "")
	if err != nil || len(q.Hours) != 3 || q.Except != 3 {
		t.Fatalf("ParseQuiet = %+v, %v", q, err)
	}
	// From Friday night over the weekend until Monday at eight.
	if got := q.Until(at("2026-11-27 23:00"), 1); !got.Equal(at("2026-11-30 07:00")) {
		t.Errorf("quiet until %v", got)
	}
	if got := q.Until(at("2026-11-27 12:00"), 1); !got.IsZero() {
		t.Errorf("quiet at noon until %v", got)
	}
	for _, c := range [][3]string{{"22-7"}, {"22:00-07:00", "Mars"}, {"22:00-07:00", "UTC", "loud"}} {
		if q, err := ParseQuiet(c[0], c[1], c[2]); err == nil {
			t.Errorf("ParseQuiet(%q) = %v, want an error", c, q)
		}
	}
}
