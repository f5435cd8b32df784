// Package artifact reads and writes the files of an index. The writer and the reader
// are in one package so that they always agree on the fields.
//
// An artifact is a folder with two files: metadata.json, which people and programs may
// read, and a data file. The data file's name, length and digest are in metadata.json.
// A new artifact replaces an old one by renaming metadata.json, the last step of
// Commit. If a build exits before that step, the old artifact stays in use.
//
// The data file holds groups. A group is a sequence of consecutive files of the corpus
// with all their index data: pages, chunk records, compressed text and full-text
// segment. Groups are independent of each other, so a build copies the groups whose
// files have not changed, and encodes only the other groups again. The result has the
// same bytes as a full build.
package artifact

import (
	"crypto/sha256"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/language"
)

// MetadataVersion is the version of the metadata.json format. Its major version is that
// of the docs-mcp contract, so that docs-mcp readers accept the file.
const MetadataVersion = "1.3.0"

// MetadataFile is the name of the metadata file in an artifact's folder.
const MetadataFile = "metadata.json"

// Metadata is the content of metadata.json. It has the keys that people write for a
// corpus and the results of the build.
type Metadata struct {
	MetadataVersion string `json:"metadata_version"`
	// CorpusDescription completes the phrase "Search the ...".
	CorpusDescription string `json:"corpus_description"`
	// Taxonomy holds the facets by key.
	Taxonomy map[string]Facet `json:"taxonomy"`
	// ToolDescriptions replaces the tools' default descriptions. If it is nil, the
	// defaults apply.
	ToolDescriptions *ToolDescriptions `json:"tool_descriptions,omitempty"`
	// Instructions are sent to a client when it connects.
	Instructions string `json:"mcpServerInstructions,omitempty"`
	// Folders holds notes about folders of the corpus, by path.
	Folders map[string]string `json:"folders,omitempty"`
	// Terms are headings and terms that characterize the corpus, best first. It is nil
	// if an older build wrote the artifact.
	Terms   []string `json:"terms,omitempty"`
	Prompts []Prompt `json:"prompts,omitempty"`
	// Languages counts the pages of each language, by code. It is nil if all pages are
	// treated as English.
	Languages map[string]int `json:"languages,omitempty"`
	Stats     Stats          `json:"stats"`
	// Embedding identifies the embedder that computed the vectors, or is nil if the
	// index has no vectors.
	Embedding *Embedding `json:"embedding"`
	Index     Index      `json:"index"`
	// Library is the library that the corpus documents, and its source. It is nil for
	// an unnamed index of a folder.
	Library *Library `json:"library,omitempty"`
	// Digest covers all other fields. It is nil in an artifact of version 1.2.0.
	// MetadataVersion determines whether a digest is required. Digest is the last
	// field so that the two are far apart.
	Digest *Digest `json:"digest,omitempty"`
}

// Library names a corpus on a shelf and describes its source.
type Library struct {
	Name string `json:"name"`
	// Version is the library's version, or empty if it has none.
	Version string `json:"version,omitempty"`
	// Source is the address of the source. If it is a path, it is absolute. Path is
	// the docs folder in the source, or "." for the whole source.
	Source string `json:"source"`
	Path   string `json:"path"`
	// Revision is the commit of a repository. Digest is "sha256:" and the digest of an
	// archive. Both are empty for other kinds of sources.
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest,omitempty"`
	// Licence is an SPDX identifier, or empty if no licence was found.
	Licence string `json:"licence,omitempty"`
	// Texts reports whether the user trusts the tool descriptions, instructions
	// and prompts that come with the library.
	Texts bool `json:"texts,omitempty"`
	// NoGitIgnore reports whether the library has files that a .gitignore file matches.
	NoGitIgnore bool `json:"no_gitignore,omitempty"`
	// Origin is the source that the library was built from if Source is a registry.
	// In this case, Digest is the digest of the registry's manifest. If Origin is
	// nil, the library was built from Source.
	Origin *Origin `json:"origin,omitempty"`
}

// Origin describes the source of a library before it was pushed to a registry. Its
// fields correspond to those of Library. Source may be empty.
type Origin struct {
	Source   string `json:"source,omitempty"`
	Path     string `json:"path,omitempty"`
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest,omitempty"`
}

// Facet is a metadata key that can filter hits.
type Facet struct {
	// Description describes the tool argument for this facet. If it is empty, a
	// default applies.
	Description string `json:"description,omitempty"`
	// Values lists the canonical values that were found, sorted.
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

// ToolDescriptions holds descriptions for the model. They replace the tools'
// default descriptions.
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

// Stats counts the contents of the artifact.
type Stats struct {
	TotalChunks int `json:"total_chunks"`
	TotalFiles  int `json:"total_files"`
	// IndexedAt is SOURCE_DATE_EPOCH or the date of SourceCommit, as RFC 3339 in UTC.
	// If neither is known, IndexedAt is nil instead of the current time, so that
	// building the same corpus again produces the same bytes.
	IndexedAt *string `json:"indexed_at"`
	// SourceCommit is the corpus's git commit, or nil outside git.
	SourceCommit *string `json:"source_commit"`
}

// Embedding identifies the provider and model that computed the vectors.
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

// Model describes the embedder that computes an artifact's vectors. The zero value
// means that there are no vectors.
type Model struct {
	// Provider and Name are written to the metadata.
	Provider, Name string
	// Key identifies everything besides the chunk that affects its vector. Groups
	// encoded with a different key are not reused.
	Key string
	// Weights is a model file to store in the artifact, so that the artifact
	// needs no other files. It is nil if Provider and Name are enough to identify
	// the model.
	Weights []byte
}

// Index locates the data.
type Index struct {
	// Engine is "deskhand".
	Engine string `json:"engine"`
	// FormatVersion is LanguagesVersion, or else the constant FormatVersion of
	// the binary that wrote the index.
	FormatVersion int `json:"format_version"`
	// Path is the name of the data file, which is next to metadata.json.
	Path string `json:"path"`
	// Bytes is the data file's size. SHA256 is its digest in hex.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Document is one page of the corpus in the form that the index stores.
type Document struct {
	// Source is the file that the page was read from.
	Source
	Title, Description string
	// Language is the language for stemming the page's words. The zero value is
	// English.
	Language language.Code
	// Metadata holds the page's facet values.
	Metadata map[string]string
	Problems []chunker.Problem
	Chunks   []chunker.Chunk
	// Phrases holds everyday phrasings of each chunk. Searches match these phrasings,
	// but they are not part of the chunk's text. Phrases is nil if no chunk of the
	// page has any.
	Phrases [][]string
	// Vectors has one vector per chunk. Either all documents in the corpus have
	// vectors, or Vectors is nil in all of them.
	Vectors []Vector
}

// Source is one file of the corpus before it is read into a Document.
type Source struct {
	// Path is relative to the corpus with forward slashes.
	Path string
	// Size is the file's length in bytes.
	Size int64
	// Digest covers everything that affects the Document, which means the file's
	// bytes and its chunking settings.
	Digest [sha256.Size]byte
}
