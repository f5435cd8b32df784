package text

import "strings"

// plainInShell lists the characters that a shell does not interpret.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:@%,"

// ShellWord returns a word in shell syntax: quoted if a shell would change it.
func ShellWord(word string) string {
	if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune(plainInShell, r) }) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
