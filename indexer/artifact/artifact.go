// Package artifact reads and writes the files of an index. Writer and reader
// are side by side, so that fields cannot diverge.
//
// An artifact is a directory with two files: metadata.json, which people and
// programs may read, and one data file, which metadata.json names with its
// length and digest. A new artifact replaces an old one by renaming
// metadata.json, the last step of Commit. If a build dies before that, the old
// artifact stays in use.
//
// The data file holds groups. A group is a run of consecutive files of the
// corpus with everything an index needs of them: pages, chunk records,
// compressed text and full-text segment. Groups are independent of each other,
// so a build copies those whose files have not changed and makes only the
// others again. The bytes are the same as those of a build from nothing.
package artifact

import (
	"crypto/sha256"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/language"
)

// MetadataVersion is the version of the format of metadata.json: the major
// version of the docs-mcp contract, so that its readers accept it.
const MetadataVersion = "1.3.0"

// MetadataFile is the name of the metadata file in an artifact's directory.
const MetadataFile = "metadata.json"

// Metadata is an artifact's description of itself: the keys that people write
// for a corpus, and what the build found.
type Metadata struct {
	MetadataVersion string `json:"metadata_version"`
	// CorpusDescription completes "Search the ...".
	CorpusDescription string `json:"corpus_description"`
	// Taxonomy holds the facets by key.
	Taxonomy map[string]Facet `json:"taxonomy"`
	// ToolDescriptions replace the tools' own texts; nil keeps them.
	ToolDescriptions *ToolDescriptions `json:"tool_descriptions,omitempty"`
	// Instructions are sent to a client when it connects.
	Instructions string `json:"mcpServerInstructions,omitempty"`
	// Folders holds notes about folders of the corpus, by path.
	Folders map[string]string `json:"folders,omitempty"`
	// Terms are headings and terms that characterize the corpus, best first;
	// nil if an older build wrote it.
	Terms   []string `json:"terms,omitempty"`
	Prompts []Prompt `json:"prompts,omitempty"`
	// Languages counts the pages of each language, by code; nil if all of them are
	// treated as English.
	Languages map[string]int `json:"languages,omitempty"`
	Stats     Stats          `json:"stats"`
	// Embedding identifies what computed the vectors; nil: the index has none.
	Embedding *Embedding `json:"embedding"`
	Index     Index      `json:"index"`
	// Library names the library that the corpus documents, and its source; nil: an
	// index of a folder, without a name.
	Library *Library `json:"library,omitempty"`
	// Digest covers all other fields; nil in an artifact of version 1.2.0. It
	// is the last field, far from the version that decides whether it is
	// required.
	Digest *Digest `json:"digest,omitempty"`
}

// Library names a corpus on a shelf and says what it was made from.
type Library struct {
	Name string `json:"name"`
	// Version is that of the library; empty: it has none.
	Version string `json:"version,omitempty"`
	// Source is the address, absolute if it is a path, and Path the folder of the
	// docs in it; "." for all of it.
	Source string `json:"source"`
	Path   string `json:"path"`
	// Revision is the commit of a repository, Digest "sha256:" and that of an
	// archive. Empty: it is none.
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest,omitempty"`
	// Licence is an SPDX identifier; empty: none was found.
	Licence string `json:"licence,omitempty"`
	// Texts says that the person trusts the library's own texts for tools.
	Texts bool `json:"texts,omitempty"`
	// Origin is what the library was made from if Source is a registry, whose
	// manifest Digest is of; nil: Source says it.
	Origin *Origin `json:"origin,omitempty"`
}

// Origin is what a library was made from, before it was in a registry. Its fields
// are those of Library; Source may be empty.
type Origin struct {
	Source   string `json:"source,omitempty"`
	Path     string `json:"path,omitempty"`
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest,omitempty"`
}

// Facet is one key that hits can be filtered by.
type Facet struct {
	// Description is the description of the tool's argument. Empty: a default.
	Description string `json:"description,omitempty"`
	// Values are the canonical values found, sorted.
	Values []string `json:"values"`
	// VectorCollapse shows one hit for pages that differ only in this facet.
	VectorCollapse bool `json:"vector_collapse,omitempty"`
	// Properties holds settings for single values.
	Properties map[string]FacetValue `json:"properties,omitempty"`
}

// FacetValue holds the settings of one value of a facet.
type FacetValue struct {
	// MCPResource publishes the pages with this value as MCP resources.
	MCPResource bool `json:"mcp_resource,omitempty"`
}

// ToolDescriptions are texts for the model that replace the tools' own.
type ToolDescriptions struct {
	SearchDocs string `json:"search_docs,omitempty"`
	GetDoc     string `json:"get_doc,omitempty"`
}

// Prompt is a template that the corpus offers to clients.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	// Messages are Mustache templates over the arguments.
	Messages []PromptMessage `json:"messages"`
}

// PromptArgument is one argument of a prompt.
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
	// UTC; nil if neither is known, so that the same corpus gives the same
	// bytes.
	IndexedAt *string `json:"indexed_at"`
	// SourceCommit is the corpus's git commit; nil outside git.
	SourceCommit *string `json:"source_commit"`
}

// Embedding identifies the provider and model of vectors.
type Embedding struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
}

// String returns the embedder's name.
func (e *Embedding) String() string {
	if e.Model == "" {
		return e.Provider
	}
	return e.Provider + ":" + e.Model
}

// Model is what computes an artifact's vectors. The zero value: no vectors.
type Model struct {
	// Provider and Name are for the metadata.
	Provider, Name string
	// Key identifies everything that affects a vector besides the chunk: groups
	// made with another key are not reused.
	Key string
	// Weights is a model file to store in the artifact, so that it is complete;
	// nil: Provider and Name are enough.
	Weights []byte
}

// Index locates the data.
type Index struct {
	// Engine is "deskhand".
	Engine string `json:"engine"`
	// FormatVersion is the constant FormatVersion of the binary that wrote it, or
	// LanguagesVersion.
	FormatVersion int `json:"format_version"`
	// Path is the name of the data file beside metadata.json.
	Path string `json:"path"`
	// Bytes and SHA256 (hex) are the data file's size and digest.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Document is one page of the corpus as the index holds it.
type Document struct {
	// Source is the file it came from.
	Source
	Title, Description string
	// Language is the one that its words are stemmed by; the zero value is English.
	Language language.Code
	// Metadata holds the page's facet values.
	Metadata map[string]string
	Problems []chunker.Problem
	Chunks   []chunker.Chunk
	// Phrases are everyday phrasings of each chunk. Searches find the chunk by
	// them too, but they are not part of its text. Nil: no chunk of the page
	// has any.
	Phrases [][]string
	// Vectors has one vector per chunk, or is nil throughout the corpus.
	Vectors []Vector
}

// Source is one file of the corpus before it is read into a Document.
type Source struct {
	// Path is relative to the corpus with forward slashes.
	Path string
	// Size is the file's length in bytes.
	Size int64
	// Digest covers everything that affects the Document: the file's bytes and
	// the settings it is cut with.
	Digest [sha256.Size]byte
}
