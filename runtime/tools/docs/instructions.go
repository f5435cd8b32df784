package docs

import "strings"

// instructions tells a model how to use the tools together. It states the limits of
// search_docs and get_doc, because their descriptions are fixed and some clients
// hide the limits in the schema.
const instructions = `Docs: search with search_docs before you answer or write code from memory, and read the best hit with get_doc before you rely on it. Write the question into query, then two or three phrasings in words the docs would use, with semicolons between: terms, option names, likely headings. Give an error text or identifier exactly as written. If no hit answers, search again in other words, then look through list_docs. If the docs do not say it, tell the user. Limits: search_docs limit 1 to 50, get_doc context 0 to 5.`

// Instructions returns the instructions for servers whose corpus has none.
func Instructions(o Options) string {
	return strings.NewReplacer("search_docs", o.name("search_docs"), "get_doc", o.name("get_doc"), "list_docs", o.name("list_docs")).Replace(instructions)
}
