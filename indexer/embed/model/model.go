// Package model holds the embedding model that deskhand ships, so that search
// understands questions with no download, no key and no network.
//
// It was trained by package train on the texts that SOURCES.md lists with their
// licences; make model trains it anew. Package embed opens it as "builtin".
package model

import _ "embed" // for Weights

// Weights is the model file, in the format of package embed. It lies in the
// program's image and is paged in where it is read: a process that embeds
// nothing pays nothing for it. It is not to be changed.
//
//go:embed builtin.model
var Weights []byte
