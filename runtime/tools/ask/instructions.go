package ask

import "strings"

// instructions tells a model when to ask a person, and how to get a late answer.
const instructions = `People: call ask_user only when you are blocked on a decision that belongs to the user: unclear requirements, a choice between designs, or permission for something destructive, costly or hard to undo. Do not ask what the code, the files or the docs answer, and never ask for secrets. Put 1 to 3 short questions into one call; offer 2 to 4 options with a description each, mark the one you recommend. If there is no answer yet, keep the request_id, do work that does not depend on it, and call await_answer. If you lost the id, list_questions has it, and every answer you have not read. No answer is not a yes; if the user declined, continue without an answer or ask differently.`

// Instructions returns the instructions for a Toolset's tools.
func (d *Toolset) Instructions() string {
	return strings.NewReplacer("ask_user", d.name("ask_user"), "await_answer", d.name("await_answer"), "list_questions", d.name("list_questions")).Replace(instructions)
}
