// Package model contains the model included in deskhand, so that semantic search works
// without a download, a key or a network.
//
// Package train trained it on the texts that SOURCES.md lists with their licences.
// "make model" trains it again. Package embed opens it as "builtin".
package model

import _ "embed" // for Weights

// Weights is the model file, in the format of package embed. It is part of the
// program's image and loaded only when read, so a process that embeds nothing does not
// load it. It must not be modified.
//
//go:embed builtin.model
var Weights []byte
