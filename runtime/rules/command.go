package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxCommand is the length in bytes of the longest command or pattern that is read.
const maxCommand = 4096

// words splits a command line into the words that every shell passes to one program. ok is
// false unless that is certain. It refuses everything that a shell interprets: operators,
// substitutions, redirections, assignments, escapes, globs, comments, line ends, reserved
// words, and characters that a reader cannot see.
//
// The words are read here, and again by a parser of three shells. Both must agree.
func words(command string) (list []string, ok bool) {
	if len(command) > maxCommand || !utf8.ValidString(command) {
		return nil, false
	}
	list, ok = split(command)
	if !ok || len(list) == 0 || list[0] == "" || strings.Contains(list[0], "=") {
		return nil, false
	}
	for _, shell := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX, syntax.LangZsh} {
		if !agrees(command, list, shell) {
			return nil, false
		}
	}
	return list, true
}

// bare lists the characters other than letters and digits that no shell interprets outside
// quotes. Missing are, for example, the percent sign and the caret, because some do.
const bare = "_-+=./:@,"

// split reads words of letters, digits and characters in bare, and quoted parts.
func split(command string) (list []string, ok bool) {
	var word strings.Builder
	within, quote := false, rune(0)
	end := func() {
		if within {
			list = append(list, word.String())
			word.Reset()
			within = false
		}
	}
	for _, c := range command {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			if !unicode.IsPrint(c) || c == '\\' || c == '!' || quote == '"' && (c == '$' || c == '`') {
				return nil, false
			}
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, within = c, true
		case c == ' ':
			end()
		case c == '=' && !within: // zsh replaces =name by a path
			return nil, false
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(bare, c):
			word.WriteRune(c)
			within = true
		default:
			return nil, false
		}
	}
	if quote != 0 {
		return nil, false
	}
	end()
	return list, true
}

// agrees reports whether a shell's parser reads the command as one program with these
// words and nothing else.
func agrees(command string, list []string, shell syntax.LangVariant) bool {
	file, err := syntax.NewParser(syntax.Variant(shell), syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return false
	}
	s := file.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Redirs) > 0 || len(s.Comments) > 0 || len(call.Assigns) > 0 || len(call.Args) != len(list) {
		return false
	}
	for i, w := range call.Args {
		if text, plain := textOf(w.Parts); !plain || text != list[i] {
			return false
		}
	}
	return true
}

// textOf returns the text of a word whose parts are literal.
func textOf(parts []syntax.WordPart) (text string, plain bool) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text += p.Value
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			text += p.Value
		case *syntax.DblQuoted:
			inner, plain := textOf(p.Parts)
			if p.Dollar || !plain {
				return "", false
			}
			text += inner
		default:
			return "", false
		}
	}
	return text, true
}

// quoted returns words as a command that [words] reads the same way.
func quoted(list []string) string {
	out := make([]string, len(list))
	for i, word := range list {
		plain := word != "" && word[0] != '=' && !strings.ContainsFunc(word, func(c rune) bool {
			return !(c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c))) && !strings.ContainsRune(bare, c)
		})
		switch {
		case plain:
			out[i] = word
		case strings.Contains(word, "'"):
			// A word has both quotes only if it was written in parts.
			out[i] = `"` + strings.ReplaceAll(word, `"`, `"'"'"`) + `"`
		default:
			out[i] = "'" + word + "'"
		}
	}
	return strings.Join(out, " ")
}
