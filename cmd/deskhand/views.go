package main

// What the setting views may be.
const (
	viewsOn  = "on"
	viewsOff = "off"
)

// hasViews reports whether clients that show views get them. The agent of an
// attempt never does: its client is a program, which would answer its own
// questions.
func (a *app) hasViews() (bool, error) {
	on, err := a.settings.either("views", viewsOn, viewsOff)
	return on && env("DESKHAND_ATTEMPT_ID") == "", err
}
