package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// handle logs an event from the agent, and records the state of the agent's
// task.
func (c *remote) handle(e a2a.Event) {
	if e == nil {
		return
	}
	info := e.TaskInfo()
	at := c.position()
	if info.ContextID != "" {
		at.Context = info.ContextID
	}
	if info.TaskID != "" {
		at.Task = info.TaskID
	}
	c.setPosition(at)
	if session, err := json.Marshal(at); err == nil && at != (position{}) {
		c.talk.begin(string(session))
	}
	switch e := e.(type) {
	case *a2a.Message:
		c.single = at.Task == ""
		c.show(e.Parts)
	case *a2a.Task:
		for _, a := range e.Artifacts {
			c.artifact(a, false, true)
		}
		c.state(e.Status)
	case *a2a.TaskArtifactUpdateEvent:
		c.artifact(e.Artifact, e.Append, false)
		if e.LastChunk {
			c.talk.endText()
		}
	case *a2a.TaskStatusUpdateEvent:
		c.state(e.Status)
	}
}

// markKnown records which parts an earlier run has already logged.
func (c *remote) markKnown(t *a2a.Task) {
	for _, a := range t.Artifacts {
		c.seen["artifact "+string(a.ID)] = len(a.Parts)
	}
	if m := t.Status.Message; m != nil {
		c.seen["message "+m.ID] = len(m.Parts)
	}
}

// state records the task's status and shows its message. It does not show a
// question or a reason for failure, which are shown elsewhere.
func (c *remote) state(s a2a.TaskStatus) {
	c.status = s
	m := s.Message
	if m == nil || awaitsInput(s.State) || s.State.Terminal() && s.State != a2a.TaskStateCompleted {
		return
	}
	if id := "message " + m.ID; m.ID == "" || c.seen[id] == 0 {
		c.seen[id] = len(m.Parts)
		c.show(m.Parts)
	}
}

// artifact shows a file or text that the agent has produced. If more is set,
// the artifact continues the previous part. If whole is set, it is a task's
// complete artifact, and only the parts that were not shown before are new.
func (c *remote) artifact(a *a2a.Artifact, more, whole bool) {
	if a == nil {
		return
	}
	id, parts := "artifact "+string(a.ID), a.Parts
	if whole {
		parts = parts[min(c.seen[id], len(parts)):]
		c.seen[id] = max(c.seen[id], len(a.Parts))
	} else if more {
		c.seen[id] += len(parts)
	} else {
		c.seen[id] = len(parts)
		c.talk.endText()
	}
	for _, p := range parts {
		c.part(p, a.Name, more)
	}
	if whole {
		c.talk.endText()
	}
}

func (c *remote) show(parts []*a2a.Part) {
	c.talk.endText()
	for _, p := range parts {
		if p != nil && p.Text() != "" && p.Text() == c.talk.result.Summary {
			continue // some agents send their answer twice
		}
		c.part(p, "", false)
		c.talk.endText()
	}
}

// part shows one part. name is the file name to use if the part has none. If
// more is set, the part continues the previous one.
func (c *remote) part(p *a2a.Part, name string, more bool) {
	if p == nil {
		return
	}
	switch v := p.Content.(type) {
	case a2a.Text:
		if p.Filename != "" {
			c.file(p.Filename, []byte(v), more)
		} else {
			c.talk.piece(logs.AssistantMessage, string(v))
		}
	case a2a.Raw:
		c.file(orElse(p.Filename, name), v, more)
	case a2a.URL:
		c.talk.system(fmt.Sprintf("the agent points to a file, which is not fetched: %s %s", orElse(p.Filename, name), v))
	case a2a.Data:
		data, err := json.Marshal(v.Value)
		if id := "data " + string(data); err == nil && c.seen[id] == 0 {
			c.seen[id] = 1
			c.talk.system("data from the agent: " + logs.Clip(string(data)))
		}
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// partsText joins the texts in parts.
func partsText(parts []*a2a.Part) string {
	var texts []string
	for _, p := range parts {
		if p != nil && p.Filename == "" && strings.TrimSpace(p.Text()) != "" {
			texts = append(texts, strings.TrimSpace(p.Text()))
		}
	}
	return strings.Join(texts, "\n\n")
}

// file writes a file that the agent has sent. It shows the file like an edit by
// a local agent.
func (c *remote) file(name string, data []byte, more bool) {
	content := fmt.Sprintf("(%d bytes)", len(data))
	if utf8.Valid(data) {
		content = logs.Clip(string(data))
	}
	e := logs.Tool("write", name, "success", logs.Action{Action: "file_edit", Path: name, Changes: []logs.FileEdit{{Action: "write", Content: content}}})
	if err := writeInside(c.spec.Dir, name, data, more); err != nil {
		e.Type.Status = &logs.Status{Status: "failed", Reason: err.Error()}
	}
	c.talk.endText()
	c.spec.Log.Append(e)
}

// writeInside writes a file below dir. If more is set, it appends to the file.
// Names are untrusted, so it never writes outside dir, to git's own files, or
// through a link.
func writeInside(dir, name string, data []byte, more bool) error {
	name, err := inside(name)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for i, r := range name + "/" {
		if r != '/' {
			continue
		}
		switch at, err := root.Lstat(name[:i]); {
		case os.IsNotExist(err):
		case err != nil:
			return err
		case at.Mode()&os.ModeSymlink != 0:
			return errors.New(name[:i] + " is a link")
		case i == len(name) && !at.Mode().IsRegular():
			return errors.New(name + " is not a regular file")
		}
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if more {
		how = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	f, err := root.OpenFile(name, how, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// maxName is the maximum length of a file's path in bytes.
const maxName = 1000

// inside returns name as a clean relative path with slashes.
func inside(name string) (string, error) {
	if name == "" {
		return "", errors.New("the file has no name")
	}
	if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.ContainsAny(name, `:*?"<>|`) {
		return "", errors.New("the name is not valid on every system")
	}
	slashed := strings.ReplaceAll(name, `\`, "/")
	clean := path.Clean(slashed)
	if path.IsAbs(slashed) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
		return "", errors.New("the file would be outside the folder")
	}
	for _, one := range strings.Split(clean, "/") {
		// Some file systems ignore invisible characters in names, and dots and
		// spaces at the end.
		plain := strings.Map(func(r rune) rune {
			if !unicode.IsGraphic(r) {
				return -1
			}
			return unicode.ToLower(r)
		}, strings.TrimRight(one, ". "))
		if plain == "" || plain == ".git" || strings.HasPrefix(plain, "git~") {
			return "", errors.New("the name is git's own")
		}
	}
	return clean, nil
}
