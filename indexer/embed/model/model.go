// Package model contains the model that is included in deskhand. With it, semantic
// search works without a download, a key or a network.
//
// Package train trained the model on the text listed in SOURCES.md, with the licences.
// "make model" trains it again. Package embed opens the model as "builtin".
package model

import _ "embed" // needed for Weights

// Weights is the model file, in the format of package embed. It is part of the program
// file. The system loads it only when it is read, so a process that computes no
// vectors does not load it. It must not be modified.
//
//go:embed builtin.model
var Weights []byte

// Added is a model file with German, Spanish, Japanese and Chinese words. Package embed
// opens it joined with Weights, as "multilingual". Like Weights, it is loaded only when it
// is read. SOURCES-multilingual.md lists what it was trained on, and "make multilingual"
// trains it again.
//
//go:embed multilingual.model
var Added []byte
