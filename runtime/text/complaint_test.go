package text

import (
	"fmt"
	"testing"
)

// What npm ci prints without a lock file: the reason comes first, help after it.
const npmCI = `npm error code EUSAGE
npm error
npm error The ` + "`npm ci`" + ` command can only install with an existing package-lock.json or
npm error npm-shrinkwrap.json with lockfileVersion >= 1. Run an install with npm@5 or
npm error later to generate a package-lock.json file, then try again.
npm error
npm error Clean install a project
npm error Usage:
npm error npm ci
npm error Run "npm help ci" for more info
npm error A complete log of this run can be found in: /root/.npm/_logs/debug-0.log
`

func TestAComplaintBeginsWithTheFirstError(t *testing.T) {
	for _, c := range []struct{ output, reason, text string }{
		{npmCI, "npm error The `npm ci` command can only install with an existing package-lock.json or",
			"npm error code EUSAGE\nnpm error The `npm ci` command can only install with an existing package-lock.json or\n" +
				"npm error npm-shrinkwrap.json with lockfileVersion >= 1. Run an install with npm@5 or\n...\n" +
				"npm error Run \"npm help ci\" for more info\nnpm error A complete log of this run can be found in: /root/.npm/_logs/debug-0.log"},
		{"building\nsh: 1: gradle: not found\n", "sh: 1: gradle: not found", "sh: 1: gradle: not found\n...\nbuilding"},
		{"one\ntwo\nthree", "three", "two\nthree"},
		{"make: *** No rule to make target 'x'.  Stop.", "make: *** No rule to make target 'x'. Stop.", "make: *** No rule to make target 'x'. Stop."},
		{"", "", ""},
	} {
		var whole, byBytes Complaint
		fmt.Fprint(&whole, c.output)
		for i := range len(c.output) {
			byBytes.Write([]byte{c.output[i]})
		}
		for _, got := range []*Complaint{&whole, &byBytes} {
			if got.Reason() != c.reason || got.Text(2) != c.text {
				t.Errorf("of %.40q: reason %q, text %q; want %q, %q", c.output, got.Reason(), got.Text(2), c.reason, c.text)
			}
		}
	}
}
