package board

import (
	"fmt"
	"time"
)

// moment is a time that is shown to people.
type moment struct{ time.Time }

// Machine returns the time for an attribute that scripts read.
func (m moment) Machine() string { return m.UTC().Format(time.RFC3339) }

// Ago returns roughly how long ago the time was.
func (m moment) Ago() string {
	switch d := time.Since(m.Time); {
	case m.IsZero():
		return "never"
	case d < 10*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}
