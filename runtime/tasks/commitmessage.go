package tasks

import (
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// CommitMessage is what a commit says that lands an attempt.
type CommitMessage struct {
	Title   string // of the task
	Summary string // what the agent said at the end; may be empty
	Agent   string // its name; empty: nobody knows
	Branch  string // of the attempt
	// AttemptID is the attempt.
	AttemptID string
	// Template has {title}, {summary}, {agent}, {branch}, {attempt} and {coauthor}
	// in it, each of which stands for that; {coauthor} is the whole line
	// Co-authored-by. Empty: title, summary and co-author, with lines between.
	Template string
}

const usualTemplate = "{title}\n\n{summary}\n\n{coauthor}"

// templateFields are the words that a template may have in braces.
var templateFields = []string{"title", "summary", "agent", "branch", "attempt", "coauthor"}

// checkTemplate refuses a template with a word in braces that means nothing, and
// one that could leave a commit without a subject.
func checkTemplate(template string) error {
	if template == "" {
		return nil
	}
	if err := checkText("template", template, maxPrompt); err != nil {
		return err
	}
	for _, name := range fault.Names(template) {
		if !knownField(name) {
			return refuse(InvalidArgument, "use {"+strings.Join(templateFields, "}, {")+"}", "a commit template has no {%s}", brief(name))
		}
	}
	if (CommitMessage{Title: "t", Template: template}).String() == "" {
		return refuse(InvalidArgument, "begin it with {title}, for example", "the commit template leaves the message empty")
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

// String fills in the template. Lines that are left empty are taken out, up to one.
func (c CommitMessage) String() string {
	const most = 2000 // of what the agent said, in bytes
	template := c.Template
	if template == "" {
		template = usualTemplate
	}
	title := strings.TrimSpace(c.Title)
	summary := textutil.Excerpt(strings.ToValidUTF8(strings.TrimSpace(c.Summary), ""), most)
	if summary == title {
		summary = ""
	}
	coauthor := ""
	if c.Agent != "" {
		coauthor = fmt.Sprintf("Co-authored-by: %s <%s@agents.deskhand.invalid>", c.Agent, c.Agent)
	}
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
