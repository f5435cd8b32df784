package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

func getCommand(a *app) *cobra.Command {
	var context int
	var asJSON, raw bool
	cmd := &cobra.Command{
		Use:   "get CHUNK|PATH",
		Short: "Print a chunk or a page of the docs",
		Long: "Print the chunk with this ID, or the page at this path. LIBRARY:ID and LIBRARY:PATH name a library on the\n" +
			"shelf; the library may be omitted if only one has the page.",
		ValidArgsFunction: a.libraryPrefixes,
		Example:           "  deskhand search 'log in'   # prints the paths and IDs\n  deskhand get PATH\n  deskhand get 'PATH#HEADING' --context 1\n  deskhand get LIBRARY:PATH\n  deskhand get PATH --raw > page.md",
		Args:              arguments(1, 1, "one chunk ID or path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := settings.Exclusive(cmd.Flags(), "json", "raw"); err != nil {
				return err
			}
			return a.get(args[0], context, func(text string, doc docs.Doc) error {
				return a.Document(text, doc, asJSON, raw)
			})
		},
	}
	settings.Declare(cmd.Flags(), "index")
	settings.Declare(cmd.Flags(), "shelf")
	cmd.Flags().IntVar(&context, "context", 0, "number of neighbouring chunks on each side, 0 to 5")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the text and its location as JSON")
	cmd.Flags().BoolVar(&raw, "raw", false, "print only the Markdown, without the lines between chunks and the outline")
	return cmd
}

func (a *app) get(id string, context int, show func(string, docs.Doc) error) error {
	if err := within("context", context, 0, search.MaxContext); err != nil {
		return err
	}
	libraries, err := a.libraries(a.libraryOf(id))
	if err != nil {
		return err
	}
	if libraries != nil {
		defer libraries.Close()
		text, doc, err := docs.GetFromLibraries(libraries.Federation(), id, context, unbounded)
		return got(id, text, doc, err, show)
	}
	engine, err := search.Open(a.settings.Index())
	if err != nil {
		return err
	}
	defer engine.Close()
	text, doc, err := docs.Get(engine, id, context, unbounded)
	if f := fault.Of(err); f != nil && f.Code == "chunk_not_found" {
		if near := console.Meant(engine, id); near != "" {
			return fault.New(f.Code, fmt.Sprintf("'%s' was not found in the index", id), "did you mean "+near+"? paths are relative to the folder that was indexed")
		}
	}
	return got(id, text, doc, err, show)
}

// got prints a document with show.
func got(id, text string, doc docs.Doc, err error, show func(string, docs.Doc) error) error {
	if err != nil {
		return notGot(id, err)
	}
	return show(text, doc)
}

// severalLibraries stands in the error for an ID that several libraries have, before their
// IDs.
const severalLibraries = ". Name one of them: "

// notGot converts errors from get_doc to command-line errors.
func notGot(id string, err error) error {
	f := fault.Of(err)
	switch {
	case f == nil:
	case f.Code == "chunk_not_found":
		return fault.New(f.Code, fmt.Sprintf("'%s' was not found in the index", id),
			"find its ID with \"deskhand search\"; paths are relative to the indexed folder")
	case f.Code == "invalid_argument" && strings.Contains(f.Message, severalLibraries):
		several, names, _ := strings.Cut(f.Message, severalLibraries)
		return misuse(several, "name one of them: "+names)
	case f.Code == "invalid_argument":
		return misuse(fmt.Sprintf("'%s' is neither a chunk ID nor a path", id), "write PATH, or PATH#HEADING as \"deskhand search\" prints it")
	}
	return err
}
