package chunker

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

var (
	utf8BOM    = []byte("\xef\xbb\xbf")
	utf16LEBOM = []byte("\xff\xfe")
	utf16BEBOM = []byte("\xfe\xff")
	newline    = []byte("\n")
)

// normalise returns src as valid UTF-8 with LF line ends and without byte-order mark or
// NUL. Line numbers do not change, because CRLF and a lone CR each end one line, as in
// common editors. normalise does not modify src, and returns src itself if nothing has
// to change.
func normalise(src []byte) ([]byte, []Problem) {
	var problems []Problem
	text := bytes.TrimPrefix(src, utf8BOM)
	if bytes.HasPrefix(src, utf16LEBOM) || bytes.HasPrefix(src, utf16BEBOM) {
		problems = append(problems, Problem{0, "the file is UTF-16 and was converted; save it as UTF-8"})
		text = fromUTF16(src)
	}
	if bytes.IndexByte(text, '\r') >= 0 {
		text = bytes.ReplaceAll(text, []byte("\r\n"), newline)
		text = bytes.ReplaceAll(text, []byte("\r"), newline)
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		problems = append(problems, Problem{1 + countNewlines(text[:at]), "NUL bytes are read as U+FFFD"})
		text = bytes.ReplaceAll(text, []byte{0}, []byte("\uFFFD"))
	}
	if at := firstInvalid(text); at >= 0 {
		problems = append(problems, Problem{1 + countNewlines(text[:at]), "not valid UTF-8; invalid bytes are read as U+FFFD"})
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return text, problems
}

// fromUTF16 converts src, which starts with its byte-order mark. Bytes that cannot be
// converted become U+FFFD, so the decoder returns no error.
func fromUTF16(src []byte) []byte {
	decoded, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(src)
	if err != nil {
		return nil
	}
	return decoded
}

// firstInvalid returns the offset of the first byte that is not UTF-8, or -1 if there
// is none.
func firstInvalid(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

func countNewlines(text []byte) int { return bytes.Count(text, newline) }
