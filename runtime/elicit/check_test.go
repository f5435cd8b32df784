package elicit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestPrepareSaysWhatIsWrongInTheWordsOfTheSpecification(t *testing.T) {
	q := Question{Message: "What?"}
	for name, c := range map[string]struct {
		r    Request
		want string // empty if the request is valid
	}{
		"ten questions":                   {Request{Questions: slices.Repeat([]Question{q}, 10)}, ""},
		"no questions":                    {Request{Questions: []Question{}}, "questions array must have at least 1 item"},
		"eleven questions":                {Request{Questions: slices.Repeat([]Question{q}, 11)}, "questions array exceeds maximum of 10"},
		"a thousand questions":            {Request{Questions: make([]Question, 1000)}, "questions array exceeds maximum of 10"},
		"fifty from elsewhere":            {Request{Trigger: HTTP, Questions: slices.Repeat([]Question{q}, 50)}, ""},
		"fifty-one from elsewhere":        {Request{Trigger: HTTP, Questions: slices.Repeat([]Question{q}, 51)}, "questions array exceeds maximum of 50"},
		"none from elsewhere":             {Request{Trigger: HTTP, Message: "Agreed?"}, ""},
		"select without options":          {Request{Questions: []Question{{Message: "?", Kind: "select"}}}, "Options required for select/multi-select types"},
		"multi-select without options":    {Request{Questions: []Question{{Message: "?", Kind: MultiSelect, Options: []Option{}}}}, "Options required for select/multi-select types"},
		"empty question":                  {Request{Title: "x", Questions: []Question{{}}}, "question text is required"},
		"one of two is empty":             {Request{Questions: []Question{q, {}}}, "question text is required (questions[1])"},
		"question of 1,000 characters":    {Request{Questions: []Question{{Message: strings.Repeat("問", 1000)}}}, ""},
		"question of 1,001 characters":    {Request{Title: "x", Questions: []Question{{Message: strings.Repeat("問", 1001)}}}, "question text exceeds maximum of 1000 characters"},
		"title of 100 characters":         {Request{Title: strings.Repeat("題", 100), Questions: []Question{q}}, ""},
		"title of 101 characters":         {Request{Title: strings.Repeat("題", 101), Questions: []Question{q}}, "title exceeds maximum of 100 characters"},
		"unknown type":                    {Request{Questions: []Question{{Message: "?", Kind: "slider"}}}, `type "slider" is not one of text, number, integer, boolean, confirm, single-select, select, multi-select`},
		"wait of an installation's own":   {Request{WaitMS: 3_000, Questions: []Question{q}}, ""},
		"wait of centuries":               {Request{Trigger: CLI, Message: "?", WaitMS: 1 << 62}, "timeout must be at most 3153600000000 milliseconds"},
		"ids twice":                       {Request{Questions: []Question{{ID: "a", Message: "?"}, {ID: "a", Message: "?"}}}, `question id "a" is used twice (questions[0]); question id "a" is used twice (questions[1])`},
		"id of an own-words field":        {Request{Questions: []Question{{ID: "a", Message: "?", Kind: SingleSelect, Options: OptionsOf("x"), AllowFreeform: true}, {ID: "a__other", Message: "?"}}}, `question id "a" is used twice (questions[0]); question id "a__other" is used twice (questions[1])`},
		"options twice":                   {Request{Questions: []Question{{Message: "?", Kind: SingleSelect, Options: OptionsOf("x", "x")}}}, `option "x" appears twice`},
		"options for a text are harmless": {Request{Questions: []Question{{Message: "?", Options: OptionsOf("x", "x")}}}, ""},
		"min over max":                    {Request{Questions: []Question{{Message: "?", Min: float(2), Max: float(1)}}}, "min 2 is more than max 1"},
		"default that does not fit":       {Request{Questions: []Question{{ID: "n", Message: "?", Kind: Number, Max: float(1), Default: number(2)}}}, `the default is not a valid answer: question "n": at most 1, not 2`},
		"url":                             {Request{Trigger: CredentialRequired, Message: "Sign in", URL: "https://example.org/connect"}, ""},
		"url with questions":              {Request{URL: "https://example.org", Questions: []Question{q}}, ""},
		"url that runs":                   {Request{Trigger: HTTP, Message: "x", URL: "javascript:alert(1)"}, `url "javascript:alert(1)" is not an http or https address`},
		"form with a url":                 {Request{Mode: Form, Trigger: HTTP, Message: "x", URL: "https://example.org"}, "a request with a url must have mode url"},
		"url mode without one":            {Request{Mode: URL, Trigger: HTTP, Message: "x"}, `url "" is not an http or https address`},
		"too big":                         {Request{Trigger: HTTP, Message: "x", Schema: []byte(`"` + strings.Repeat("x", maxRequestBytes) + `"`)}, fmt.Sprintf("the maximum is %d", maxRequestBytes)},
		"schema that is no JSON":          {Request{Trigger: HTTP, Message: "x", Schema: []byte(`{`)}, "cannot encode the request as JSON"},
		"nothing to say":                  {Request{Trigger: HTTP}, "message is required when there is no title and no question"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.r.Trigger == "" {
				c.r.Trigger = AskUser
			}
			got, err := Prepare(c.r)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("Prepare = %v, want it taken", err)
			case c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want) && !strings.Contains(err.Error(), "JSON")):
				t.Errorf("Prepare = %v, want %q", err, c.want)
			case c.want == "":
				if again, err := Prepare(got); err != nil || fmt.Sprint(again) != fmt.Sprint(got) {
					t.Errorf("Prepare of what was prepared = %+v, %v", again, err)
				}
			}
		})
	}
}

func TestPrepareFillsInWhatIsCustom(t *testing.T) {
	r, err := Prepare(Request{Trigger: AskUser, Context: Context{TurnID: "t"}, Questions: []Question{
		{Message: "First?"}, {Message: "Second?", Kind: "select", Options: OptionsOf("a", "b")}, {Message: "Third?", Kind: "confirm"}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Message != "First?" || r.Mode != Form || r.Priority != Normal || r.WaitMS != 300_000 || r.OnTurnEnd != Abandon {
		t.Errorf("Prepare = %+v", r)
	}
	for i, kind := range []Kind{Text, SingleSelect, Boolean} {
		if q := r.Questions[i]; q.Kind != kind || !strings.HasPrefix(q.ID, "q_") || len(q.ID) != 8 {
			t.Errorf("question %d is %s %q, want %s and an id like q_123abc", i, q.Kind, q.ID, kind)
		}
	}
	for trigger, want := range map[Trigger]int64{AskUser: 300_000, CredentialRequired: 600_000, A2AAuthRequired: 600_000, CLI: -1, ACPPermission: -1} {
		r, err := Prepare(Request{Trigger: trigger, Questions: []Question{{Message: "?"}}})
		if err != nil || r.WaitMS != want {
			t.Errorf("wait of %s = %d, %v; want %d", trigger, r.WaitMS, err, want)
		}
	}
}
