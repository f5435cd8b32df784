package tasks

import (
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// CommitMessage holds the data for the commit message of a landing.
type CommitMessage struct {
	Title   string // the task's title
	Summary string // the agent's last message; may be empty
	Agent   string // the agent's name; empty if unknown
	Branch  string // the attempt's branch
	// AttemptID is the attempt's ID.
	AttemptID string
	// Template is the message's text. It may contain the placeholders {title},
	// {summary}, {agent}, {branch}, {attempt} and {coauthor}. {coauthor} stands
	// for the whole Co-authored-by line. If Template is empty, the message
	// consists of the title, summary and co-author, separated by blank lines.
	Template string
}

const usualTemplate = "{title}\n\n{summary}\n\n{coauthor}"

// templateFields lists the placeholders of a template.
var templateFields = []string{"title", "summary", "agent", "branch", "attempt", "coauthor"}

// checkTemplate returns a fault for a template with an unknown placeholder, or one that
// could produce an empty message.
func checkTemplate(template string) error {
	if template == "" {
		return nil
	}
	if err := checkText("template", template, maxPrompt); err != nil {
		return err
	}
	for _, name := range fault.Names(template) {
		if !knownField(name) {
			return refuse(InvalidArgument, "use {"+strings.Join(templateFields, "}, {")+"}", "a commit template has no placeholder {%s}", brief(name))
		}
	}
	if (CommitMessage{Title: "t", Template: template}).String() == "" {
		return refuse(InvalidArgument, "start it with {title}, for example", "the commit template can produce an empty message")
	}
	return nil
}

func knownField(name string) bool {
	for _, f := range templateFields {
		if f == name {
			return true
		}
	}
	return false
}

// String fills in the template. It removes blank lines at the start and the
// end, and reduces several blank lines in a row to one.
func (c CommitMessage) String() string {
	const most = 2000 // maximum length of the summary in bytes
	template := c.Template
	if template == "" {
		template = usualTemplate
	}
	title := strings.TrimSpace(c.Title)
	summary := textutil.Excerpt(strings.ToValidUTF8(strings.TrimSpace(c.Summary), ""), most)
	if summary == title {
		summary = ""
	}
	coauthor := c.coauthor()
	full := strings.NewReplacer("{title}", title, "{summary}", summary, "{agent}", c.Agent, "{branch}", c.Branch,
		"{attempt}", c.AttemptID, "{coauthor}", coauthor).Replace(template)
	var lines []string
	for line := range strings.Lines(full) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func (c CommitMessage) coauthor() string {
	if c.Agent == "" {
		return ""
	}
	return fmt.Sprintf("Co-authored-by: %s <%s@agents.deskhand.invalid>", c.Agent, c.Agent)
}

// ofRun returns the message of a commit on the attempt's own branch: the agent's
// summary and, if the template has one, the Co-authored-by line. A landing by rebase or
// fast-forward keeps this message.
func (c CommitMessage) ofRun() string {
	summary, _, _ := strings.Cut(strings.TrimSpace(c.Summary), "\n\n\n")
	if summary == "" {
		summary = c.Title
	}
	who := c.coauthor()
	if c.Template != "" && !strings.Contains(c.Template, "{coauthor}") || strings.Contains(summary, who) {
		return summary
	}
	return summary + "\n\n" + who
}
