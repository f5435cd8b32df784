// Package artifact owns the files of an index, writer and reader side by side,
// so that a field cannot drift.
//
// An artifact is a directory with two files: metadata.json, which people and
// programs may read, and one data file that it names with length and digest.
// A new artifact replaces an old one by renaming metadata.json over it, the
// last step of Commit: whoever dies before that leaves the old one serving.
//
// The data file holds groups. A group is a run of consecutive files of the
// corpus with everything an index needs of them: their pages, chunk records,
// compressed text and full-text segment. Groups do not know each other, so a
// build copies those whose files did not change and makes only the others anew,
// and the bytes are the same as those of a build from nothing.
package artifact

import (
	"crypto/sha256"

	"github.com/deskhand/deskhand/chunker"
)

// MetadataVersion is the version of the shape of metadata.json: the major of
// the contract of docs-mcp, so that its readers accept it.
const MetadataVersion = "1.3.0"

// MetadataFile is the name of the metadata in an artifact's directory.
const MetadataFile = "metadata.json"

// Metadata is what an artifact says of itself: the shape that people write for
// a corpus, plus what the build found.
type Metadata struct {
	MetadataVersion string `json:"metadata_version"`
	// CorpusDescription completes "Search the ...".
	CorpusDescription string `json:"corpus_description"`
	// Taxonomy is the facets by key.
	Taxonomy map[string]Facet `json:"taxonomy"`
	// ToolDescriptions replace the tools' own texts; nil keeps them.
	ToolDescriptions *ToolDescriptions `json:"tool_descriptions,omitempty"`
	// Instructions are sent to a client when it connects.
	Instructions string `json:"mcpServerInstructions,omitempty"`
	// Folders are notes about folders of the corpus, by path.
	Folders map[string]string `json:"folders,omitempty"`
	// Terms are headings and terms that stand for the corpus, best first; nil
	// where an older build wrote it.
	Terms   []string `json:"terms,omitempty"`
	Prompts []Prompt `json:"prompts,omitempty"`
	Stats   Stats    `json:"stats"`
	// Embedding names what made the vectors; nil: the index has none.
	Embedding *Embedding `json:"embedding"`
	Index     Index      `json:"index"`
	// Digest is of all the others; nil in an artifact of version 1.2.0. It stands
	// last, far from the version that says whether it has to be there.
	Digest *Digest `json:"digest,omitempty"`
}

// Facet is one key that hits can be filtered by.
type Facet struct {
	// Description is the text of the tool's argument. Empty: a default is made.
	Description string `json:"description,omitempty"`
	// Values are the canonical strings found, sorted.
	Values []string `json:"values"`
	// VectorCollapse shows one hit for pages that differ in this facet alone.
	VectorCollapse bool `json:"vector_collapse,omitempty"`
	// Properties are settings of single values.
	Properties map[string]FacetValue `json:"properties,omitempty"`
}

// FacetValue is the settings of one value of a facet.
type FacetValue struct {
	// MCPResource publishes the pages with this value as MCP resources.
	MCPResource bool `json:"mcp_resource,omitempty"`
}

// ToolDescriptions are texts for the model that replace the tools' own.
type ToolDescriptions struct {
	SearchDocs string `json:"search_docs,omitempty"`
	GetDoc     string `json:"get_doc,omitempty"`
}

// Prompt is a template the corpus offers to clients.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	// Messages are Mustache templates over the arguments.
	Messages []PromptMessage `json:"messages"`
}

// PromptArgument is one value a prompt asks for.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// PromptMessage is one message of a prompt.
type PromptMessage struct {
	// Role is "user" or "assistant".
	Role string `json:"role"`
	Text string `json:"text"`
}

// Stats counts what the build found.
type Stats struct {
	TotalChunks int `json:"total_chunks"`
	TotalFiles  int `json:"total_files"`
	// IndexedAt is SOURCE_DATE_EPOCH or the date of SourceCommit, RFC 3339 in
	// UTC; nil where neither is known, since the same corpus gives the same bytes.
	IndexedAt *string `json:"indexed_at"`
	// SourceCommit is the git commit of the corpus; nil outside of git.
	SourceCommit *string `json:"source_commit"`
}

// Embedding names a provider and model of vectors.
type Embedding struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
}

// String is the name of the embedder.
func (e *Embedding) String() string {
	if e.Model == "" {
		return e.Provider
	}
	return e.Provider + ":" + e.Model
}

// Model is what makes the vectors of an artifact. The zero value: it has none.
type Model struct {
	// Provider and Name are for the metadata.
	Provider, Name string
	// Key stands for all that decides a vector beside the chunk: groups made
	// with another one are not reused.
	Key string
	// Weights is a model file to be kept in the artifact, so that it is complete
	// without it; nil: what Provider and Name say is enough.
	Weights []byte
}

// Index says where the data is.
type Index struct {
	// Engine is "deskhand".
	Engine string `json:"engine"`
	// FormatVersion is FormatVersion of the binary that wrote it.
	FormatVersion int `json:"format_version"`
	// Path is the data file, beside metadata.json.
	Path string `json:"path"`
	// Bytes and SHA256 (hex) are the data file's.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Document is one page of the corpus as the index holds it.
type Document struct {
	// Source is the file it came from.
	Source
	Title, Description string
	// Metadata is the page's facet values.
	Metadata map[string]string
	Problems []chunker.Problem
	Chunks   []chunker.Chunk
	// Phrases are everyday phrasings of each chunk: it is found by them as by its
	// text, and they are no part of that. Nil: no chunk of the page has any.
	Phrases [][]string
	// Vectors has one for each chunk, or is nil throughout the corpus.
	Vectors []Vector
}

// Source is one file of the corpus before it is read into a Document.
type Source struct {
	// Path is relative to the corpus with forward slashes.
	Path string
	// Size is the file's length in bytes.
	Size int64
	// Digest covers all that decides the Document: the file's bytes and the
	// settings it is cut with.
	Digest [sha256.Size]byte
}
