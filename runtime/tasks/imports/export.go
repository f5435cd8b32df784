package imports

import "time"

// Format is the value of [Export.Format].
const Format = "deskhand-tasks-1"

// Export is what deskhand exports of a project. The same tasks give the same JSON.
type Export struct {
	Format  string       `json:"format"`
	Project string       `json:"project"`
	Tasks   []ExportTask `json:"tasks"` // oldest first
}

// ExportTask is a task in an Export.
type ExportTask struct {
	ID          string    `json:"id"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Status      string    `json:"status"`
	Created     time.Time `json:"created_at"`
	Updated     time.Time `json:"updated_at"`
	Plan
	// Source is the key of the item that the task was imported from, or empty.
	Source   string          `json:"source,omitempty"`
	Attempts []ExportAttempt `json:"attempts"` // newest first
}

// ExportAttempt is an attempt in an Export.
type ExportAttempt struct {
	ID       string    `json:"id"`
	Branch   string    `json:"branch"`
	Executor string    `json:"executor,omitempty"`
	State    string    `json:"state"`
	Landed   bool      `json:"landed"`
	Created  time.Time `json:"created_at"`
	Tokens   int64     `json:"tokens"`
	Cost     float64   `json:"cost_usd"`
	Known    bool      `json:"cost_known"` // whether Cost is all of it
}
