package elicit

// Question is one thing to answer.
type Question struct {
	ID      string `json:"id"` // unique in its request; zero when asked: one is made
	Kind    Kind   `json:"kind"`
	Title   string `json:"title,omitempty"` // short, as for a tab
	Message string `json:"message"`         // the question itself, 1 to 1,000 characters

	Required    bool   `json:"required"`
	Placeholder string `json:"placeholder,omitempty"`
	Multiline   bool   `json:"multiline,omitempty"`
	Format      Format `json:"format,omitempty"` // of a text
	// Min and Max bound the characters of a text, the value of a number, or how
	// many options are chosen, own words included.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Default is shown, and never taken for an answer.
	Default *Value   `json:"default,omitempty"`
	Options []Option `json:"options,omitempty"`
	// AllowFreeform lets a person answer a select in their own words.
	AllowFreeform bool `json:"allowFreeform,omitempty"`
}

// Kind is what sort of answer a question wants.
type Kind string

const (
	Text         Kind = "text"
	Number       Kind = "number"
	Integer      Kind = "integer"
	Boolean      Kind = "boolean"
	SingleSelect Kind = "single-select"
	MultiSelect  Kind = "multi-select"
)

// ParseKind knows the kinds, and select and confirm as others say. The empty
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

// Format is what a text looks like.
type Format string

const (
	Email    Format = "email"
	URI      Format = "uri"
	Date     Format = "date"      // 2006-01-02
	DateTime Format = "date-time" // RFC 3339
)

// Option is one choice of a select.
type Option struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Recommended bool   `json:"recommended,omitempty"`
}

// OptionsOf makes options of labels, which are their ids too.
func OptionsOf(labels ...string) []Option {
	var options []Option
	for _, l := range labels {
		options = append(options, Option{ID: l, Label: l})
	}
	return options
}

// Option finds an option by its id.
func (q *Question) Option(id string) (Option, bool) {
	for _, o := range q.Options {
		if o.ID == id {
			return o, true
		}
	}
	return Option{}, false
}
