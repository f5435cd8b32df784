package elicit

// Question is one question of a request.
type Question struct {
	ID      string `json:"id"` // unique in its request; generated if empty when asked
	Kind    Kind   `json:"kind"`
	Title   string `json:"title,omitempty"` // short, for example for a tab
	Message string `json:"message"`         // the question itself, 1 to 1,000 characters

	Required    bool   `json:"required"`
	Placeholder string `json:"placeholder,omitempty"`
	Multiline   bool   `json:"multiline,omitempty"`
	Format      Format `json:"format,omitempty"` // of a text answer
	// Min and Max limit the number of characters in a text answer, the value of a
	// number, or the number of chosen options (free text counts as one).
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Default is shown but never counts as an answer.
	Default *Value   `json:"default,omitempty"`
	Options []Option `json:"options,omitempty"`
	// AllowFreeform lets a person answer a select with free text.
	AllowFreeform bool `json:"allowFreeform,omitempty"`
}

// Kind is the type of answer that a question requires.
type Kind string

const (
	Text         Kind = "text"
	Number       Kind = "number"
	Integer      Kind = "integer"
	Boolean      Kind = "boolean"
	SingleSelect Kind = "single-select"
	MultiSelect  Kind = "multi-select"
)

// ParseKind parses a kind, including the aliases select and confirm. An empty
// word is text.
func ParseKind(word string) (Kind, bool) {
	switch k := Kind(word); k {
	case Text, Number, Integer, Boolean, SingleSelect, MultiSelect:
		return k, true
	case "":
		return Text, true
	case "select":
		return SingleSelect, true
	case "confirm":
		return Boolean, true
	}
	return "", false
}

func (k Kind) selects() bool { return k == SingleSelect || k == MultiSelect }

// Format is the format of a text answer.
type Format string

const (
	Email    Format = "email"
	URI      Format = "uri"
	Date     Format = "date"      // 2006-01-02
	DateTime Format = "date-time" // RFC 3339
)

// Option is one option of a select.
type Option struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Recommended bool   `json:"recommended,omitempty"`
}

// OptionsOf returns options with these labels, which are also their IDs.
func OptionsOf(labels ...string) []Option {
	var options []Option
	for _, l := range labels {
		options = append(options, Option{ID: l, Label: l})
	}
	return options
}

// Option returns the option whose ID is id.
func (q *Question) Option(id string) (Option, bool) {
	for _, o := range q.Options {
		if o.ID == id {
			return o, true
		}
	}
	return Option{}, false
}
