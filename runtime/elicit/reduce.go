package elicit

import (
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// Reduce returns the request that results from an action, or nil if the request is
// deleted. It is pure: the same request and action give the same result everywhere,
// and r does not change. If the action's type is unknown or the action changes
// nothing, Reduce returns r itself. An error is a *[Rejection].
func Reduce(r *Request, a Action) (*Request, error) {
	if a.Type == Requested {
		return request(r, a)
	}
	if r == nil {
		return nil, reject(UnknownRequest, "", "there is no request %q", brief(a.RequestID))
	}
	rule, known := transitions[a.Type]
	if !known {
		return r, nil
	}
	if r.Status == Completed && !rule.after {
		if (a.Type == CompletedBy || a.Type == AnswerHeld) && (a.Again || a.Client != "") && r.endedBy(a) {
			return r, nil // the same action ended it
		}
		return r, rejectCompleted(r)
	}
	if rule.person && a.Rule == nil && !r.mayAnswer(a) && !(rule.above && a.Above) { // the register has asked whether a rule's person may
		return r, reject(NotYours, "", "this question is for someone else")
	}
	next := *r
	next.Rev++
	changed, err := rule.apply(&next, a)
	if err != nil {
		return r, err
	}
	if !changed {
		return r, nil
	}
	if next.ID == "" {
		return nil, nil // removed
	}
	return &next, nil
}

// transitions defines what each type of action does. apply gets a copy whose maps and
// slices are still shared with the old request.
var transitions = map[ActionType]struct {
	person bool // only the audience may do this
	after  bool // also allowed when the request is completed
	above  bool // also allowed if the action is from Above
	apply  func(next *Request, a Action) (changed bool, err error)
}{
	PresentedTo:    {apply: present, after: true},
	AnswerChanged:  {apply: change, person: true},
	CompletedBy:    {apply: complete, person: true},
	AnswerHeld:     {apply: hold, person: true},
	TakenBack:      {apply: takeBack, person: true},
	HoldOver:       {apply: func(*Request, Action) (bool, error) { return false, nil }, after: true}, // the hub has applied the held answer
	Extended:       {apply: extend, person: true},
	Reassigned:     {apply: reassign, person: true, above: true},
	Claimed:        {apply: claim, person: true},
	Unclaimed:      {apply: unclaim, person: true, above: true},
	Routed:         {apply: routed},
	Withdrawn:      {apply: withdraw},
	AskerLeft:      {apply: leave, after: true},
	AskerReturned:  {apply: comeBack, after: true},
	HandBack:       {apply: handBack},
	Collected:      {apply: collect, after: true},
	TimeUp:         {apply: expire},
	Outlived:       {apply: outlive},
	Removed:        {apply: remove, after: true},
	AnswerRedacted: {apply: func(*Request, Action) (bool, error) { return true, nil }, after: true},
}

// request opens a request or asks an open one again. Drafts of questions that still
// exist are kept.
func request(r *Request, a Action) (*Request, error) {
	if a.Request == nil || a.RequestID == "" {
		return r, reject(Malformed, "", "the action requested needs a request and its ID")
	}
	if r != nil && r.Status == Completed {
		return r, rejectCompleted(r)
	}
	if r != nil && r.Status == ExpiredOpen {
		return r, rejectExpired()
	}
	next := *a.Request
	next.ID, next.Status, next.Completion, next.Rev = a.RequestID, Open, nil, 1
	next.CreatedAt, next.Deadline, next.Presented, next.Answers, next.Held = a.At, Time{}, nil, nil, nil
	if r != nil {
		next.Routing = r.Routing
	}
	next.AskerGone, next.HandedBack, next.TurnEnd, next.CollectedAt, next.EndedFrom = false, false, nil, Time{}, nil
	if r != nil {
		next.Rev, next.CreatedAt, next.Presented = r.Rev+1, r.CreatedAt, r.Presented
		for id, answer := range r.Answers {
			if q, ok := next.Question(id); ok && q.problem(&answer) == nil {
				next.put(id, answer)
			}
		}
	}
	if next.Clock != FromPresentation {
		next.Deadline = next.due(next.CreatedAt)
	} else if len(next.Presented) > 0 {
		next.Deadline = next.due(next.Presented[0].At)
	}
	return &next, nil
}

// due returns the deadline for a wait that begins at the given time.
func (r *Request) due(from Time) Time {
	if r.WaitMS <= 0 {
		return Time{}
	}
	return At(from.Add(time.Duration(r.WaitMS) * time.Millisecond))
}

// put sets an answer in a copy of the map.
func (r *Request) put(id string, answer Answer) {
	if r.Answers = maps.Clone(r.Answers); r.Answers == nil {
		r.Answers = map[string]Answer{}
	}
	r.Answers[id] = answer
}

// mayAnswer reports whether the acting person may answer: as the audience, through the
// routing, or because the person has claimed the request.
func (r *Request) mayAnswer(a Action) bool {
	s := r.Routing
	return r.Audience.has(a) || s != nil && (s.Everyone || a.By != "" && slices.Contains(s.People, a.By) || s.Taken != nil && a.By == s.Taken.By ||
		slices.ContainsFunc(s.Roles, func(role string) bool { return slices.Contains(a.Roles, role) }))
}

// MayAnswer reports whether a person with roles may answer, if the person knows of the
// request's project.
func (r *Request) MayAnswer(by string, roles []string) bool {
	return r.mayAnswer(Action{By: by, Roles: roles})
}

// has reports whether the audience has the acting person. Who is on call is not known here.
func (who Audience) has(a Action) bool {
	if who.everyone() || who.Principal != "" && who.Principal == a.By {
		return true
	}
	return slices.ContainsFunc(who.Roles, func(role string) bool { return slices.Contains(a.Roles, role) })
}

// Includes reports whether a person with roles may answer what is for the audience.
func (who Audience) Includes(principal string, roles []string) bool {
	return who.has(Action{By: principal, Roles: roles})
}

// maxAudienceBytes far exceeds any team's names.
const maxAudienceBytes = 8 << 10

// size returns an audience's size in bytes, plus one for each role.
func (who Audience) size() int {
	n := len(who.Principal) + len(who.Roles) + len(who.Rota)
	for _, role := range who.Roles {
		n += len(role)
	}
	return n
}

// present records who could see the request: once for each channel and client, up
// to a maximum number.
func present(next *Request, a Action) (bool, error) {
	const most = 32
	seen := func(p Presentation) bool { return p.Channel == a.Channel && p.Client == a.Client }
	if len(next.Presented) >= most || slices.ContainsFunc(next.Presented, seen) {
		return false, nil
	}
	if next.Clock == FromPresentation && len(next.Presented) == 0 && next.Status == Open {
		next.Deadline = next.due(a.At)
	}
	next.Presented = append(slices.Clip(next.Presented), Presentation{a.Channel, a.Client, a.At})
	return true, nil
}

func change(next *Request, a Action) (bool, error) {
	q, ok := next.Question(a.QuestionID)
	if !ok {
		return false, rejectProblems(InvalidAnswers, []Problem{unknownQuestion(a.QuestionID)})
	}
	old, given := next.Answers[q.ID]
	if a.IfRev > 0 && given && old.Meta != nil && old.Meta.Rev > a.IfRev {
		if a.Answer != nil && old.says(a.Answer) {
			return false, nil // a page that missed the confirmation sends its draft again
		}
		return false, reject(Stale, "read the request again and choose one of the two texts",
			"question %q was changed by %s since revision %d", q.ID, somebody(old.Meta.By), a.IfRev)
	}
	if a.Answer == nil {
		if !given {
			return false, nil
		}
		next.Answers = maps.Clone(next.Answers)
		delete(next.Answers, q.ID)
		return true, nil
	}
	if p := q.problem(a.Answer); p != nil {
		return false, rejectProblems(InvalidAnswers, []Problem{*p})
	}
	next.put(q.ID, next.stamped(*a.Answer, a))
	return true, nil
}

func somebody(name string) string {
	if name == "" {
		return "someone"
	}
	return name
}

func unknownQuestion(id string) Problem {
	return Problem{id, "unknown_question", "there is no question \"" + brief(id) + "\""}
}

// stamped adds who gave an answer, if that is missing.
func (r *Request) stamped(answer Answer, a Action) Answer {
	if answer.Meta == nil {
		answer.Meta = &AnswerMeta{r.Rev, a.By, a.Channel, a.At}
	}
	return answer
}

// complete merges the action's answers, checks all answers, and ends the request.
// Drafts that were not submitted are removed.
func complete(next *Request, a Action) (bool, error) {
	if utf8.RuneCountInString(a.Note)+utf8.RuneCountInString(a.Reason) > MaxMessage {
		return false, reject(Malformed, "shorten it", "the note exceeds maximum of %d characters", MaxMessage)
	}
	switch a.Response {
	case Accept:
		answers, err := next.accepted(a)
		if err != nil {
			return false, err
		}
		next.Answers = answers
	case Decline, Cancel:
		next.Answers = nil
	default:
		return false, reject(Malformed, "", "response %q is not accept, decline or cancel", brief(string(a.Response)))
	}
	next.end(a, a.Response)
	next.EndedFrom = a.Origin
	return true, nil
}

func (r *Request) accepted(a Action) (map[string]Answer, error) {
	var problems []Problem
	answers := map[string]Answer{}
	if !a.Final {
		maps.Copy(answers, r.Answers)
	}
	for _, id := range slices.Sorted(maps.Keys(a.Answers)) {
		given := a.Answers[id]
		q, ok := r.Question(id)
		if !ok {
			problems = append(problems, unknownQuestion(id))
			continue
		}
		if p := q.problem(&given); p != nil && given.State == Draft {
			problems = append(problems, *p)
		}
		if old, ok := answers[id]; !ok || !old.says(&given) {
			answers[id] = r.stamped(given, a)
		}
	}
	if problems = append(r.missing(answers), problems...); len(problems) > 0 {
		return nil, rejectProblems(InvalidAnswers, problems)
	}
	maps.DeleteFunc(answers, func(_ string, a Answer) bool { return a.State == Draft })
	if len(answers) == 0 {
		return nil, nil
	}
	return answers, nil
}

// end completes a request. The completion is late if the asker was already told
// that the deadline has passed.
func (r *Request) end(a Action, outcome Outcome) {
	r.Completion = &Completion{Outcome: outcome, Reason: a.Reason, Note: a.Note, By: a.By, Channel: a.Channel, Client: a.Client,
		At: a.At, Late: r.Status == ExpiredOpen, Rule: a.Rule}
	r.Status, r.Held = Completed, nil
}

// endedBy reports whether a is the action that ended r, from the same person and
// client. A page repeats an action if it did not receive the confirmation. A hub
// does the same if its commit was not acknowledged.
func (r *Request) endedBy(a Action) bool {
	c := r.Completion
	if c.Outcome != a.Response || c.By != a.By || c.Channel != a.Channel || c.Client != a.Client || c.Note != a.Note || c.Reason != a.Reason {
		return false
	}
	for id, given := range a.Answers {
		kept, ok := r.Answers[id]
		if c.Outcome == Accept && (!ok || !kept.says(&given)) {
			return false
		}
	}
	return true
}

func extend(next *Request, a Action) (bool, error) {
	if next.Status == ExpiredOpen {
		return false, rejectExpired()
	}
	if !a.Deadline.IsZero() && !a.Deadline.After(a.At.Time) {
		return false, reject(Malformed, "", "the new deadline %s is in the past", a.Deadline.Format(timeFormat))
	}
	if a.Deadline.Equal(next.Deadline.Time) {
		return false, nil
	}
	next.Deadline = a.Deadline
	return true, nil
}

func reassign(next *Request, a Action) (bool, error) {
	if a.Audience == nil {
		return false, reject(Malformed, "", "the action reassigned needs an audience")
	}
	if a.Audience.size() > maxAudienceBytes {
		return false, reject(Malformed, "use a role that all of them have", "the audience exceeds maximum of %d bytes", maxAudienceBytes)
	}
	if next.Mode == URL && a.Audience.Principal == "" {
		return false, reject(Malformed, "", "a request with a url is for one person; set the audience to that person")
	}
	if next.Audience.Principal == a.Audience.Principal && slices.Equal(next.Audience.Roles, a.Audience.Roles) && next.Audience.Rota == a.Audience.Rota && next.claimedBy() == "" {
		return false, nil
	}
	next.Audience, next.Held = *a.Audience, nil
	next.handOver(a)
	return true, nil
}

func withdraw(next *Request, a Action) (bool, error) {
	next.Answers = nil
	next.end(a, Abandoned)
	next.Completion.Late = false
	return true, nil
}

// leave handles an asker that stops waiting. An asker that was already told that
// the deadline has passed may check again as often as it wants. The request's
// position in the inbox then does not change.
func leave(next *Request, _ Action) (bool, error) {
	changed := !next.AskerGone && next.Status == Open
	next.AskerGone = true
	return changed, nil
}

func comeBack(next *Request, a Action) (bool, error) {
	changed := next.Status != Completed && (next.AskerGone || next.HandedBack || next.Status == Open && next.TurnEnd != nil || next.Asker != a.Asker)
	next.AskerGone, next.HandedBack, next.Asker = false, false, a.Asker
	if next.Status == Open {
		next.TurnEnd = nil
	}
	return changed, nil
}

// handBack handles a call that ends with the request's ID. The request keeps its
// position in the inbox, because its agent is likely to come back. From then on,
// the request is not bound to the turn.
func handBack(next *Request, _ Action) (bool, error) {
	changed := !next.HandedBack
	next.HandedBack, next.OnTurnEnd = true, Keep
	return changed, nil
}

func collect(next *Request, a Action) (bool, error) {
	changed := next.Status == Completed && next.CollectedAt.IsZero()
	next.CollectedAt = a.At
	return changed, nil
}

// expire is called by any process that notices the deadline. The drafts are kept,
// because they may become a late answer.
func expire(next *Request, a Action) (bool, error) {
	if next.Status != Open {
		return false, nil
	}
	if next.Deadline.IsZero() || a.At.Before(next.Deadline.Time) {
		return false, reject(NotDue, "", "the deadline has not passed")
	}
	next.Status = ExpiredOpen
	next.Completion = &Completion{Outcome: Timeout, At: a.At}
	return true, nil
}

func remove(next *Request, _ Action) (bool, error) {
	if next.Status == Open {
		return false, reject(Malformed, "", "an open request cannot be removed")
	}
	next.ID = ""
	return true, nil
}
