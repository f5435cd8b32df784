package board

import (
	"fmt"
	"time"
)

// moment is a time that is shown to people.
type moment struct{ time.Time }

// Machine returns the time for an attribute that scripts read.
func (m moment) Machine() string { return m.UTC().Format(time.RFC3339) }

// Clock returns the hour and minute where the server is. The script replaces it
// with those where the browser is.
func (m moment) Clock() string { return m.Local().Format("15:04") }

// Full returns the date and time where the server is.
func (m moment) Full() string { return m.Local().Format("Monday, 2 January 2006, 15:04:05 MST") }

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
