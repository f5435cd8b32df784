package elicit

import "github.com/deskhand/deskhand/runtime/store"

// auditActions names the actions that the audit log has. The others change nothing that
// somebody decides.
var auditActions = map[ActionType]string{
	CompletedBy: "question.answered", HoldOver: "question.answered", TakenBack: "question.taken-back",
	Extended: "question.extended", Reassigned: "question.reassigned",
	Claimed: "question.claimed", Unclaimed: "question.unclaimed", Routed: "question.routed", Removed: "question.deleted",
}

func (a *Action) audited() bool { return auditActions[a.Type] != "" }

// record returns an action's row of the audit log, without the texts of answers and notes.
func (a *Action) record(next *Request) store.Record {
	r := store.Record{Who: a.By, Way: a.Channel, Action: auditActions[a.Type], Object: a.RequestID}
	if a.Type == CompletedBy || a.Type == HoldOver {
		r.Outcome = string(a.Response)
		if next != nil && next.Completion != nil && next.Completion.Late {
			r.Detail = "late"
		}
	}
	if a.Rule != nil {
		r.Who, r.Detail = "rule "+a.Rule.ID, "rule of "+a.Rule.Of
	}
	if a.Type == Reassigned && a.Audience != nil {
		r.Detail = "to " + a.Audience.to()
	}
	if a.Type == Routed && a.Routing != nil {
		r.Who, r.Detail = "deskhand", "to "+a.Routing.To
	}
	return r
}
