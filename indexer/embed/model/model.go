// Package model holds the embedding model that deskhand ships, so that semantic
// search works without download, key or network.
//
// Package train trained it on the texts that SOURCES.md lists with their
// licences; make model trains it again. Package embed opens it as "builtin".
package model

import _ "embed" // for Weights

// Weights is the model file, in the format of package embed. It is part of the
// program's image and paged in when read, so a process that embeds nothing pays
// nothing for it. It must not be modified.
//
//go:embed builtin.model
var Weights []byte
