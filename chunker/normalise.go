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

// normalise returns src as valid UTF-8 without byte-order mark and NUL, with
// LF line ends. Lines keep their numbers: CRLF and a lone CR each end one line,
// as in the editors that write them. src is not changed; the result is src
// itself where nothing had to be.
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
		problems = append(problems, Problem{1 + countNewlines(text[:at]), "NUL byte, read as U+FFFD"})
		text = bytes.ReplaceAll(text, []byte{0}, []byte("\uFFFD"))
	}
	if at := firstInvalid(text); at >= 0 {
		problems = append(problems, Problem{1 + countNewlines(text[:at]), "not valid UTF-8, unreadable bytes are read as U+FFFD"})
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return text, problems
}

// fromUTF16 converts src, which starts with its byte-order mark. What cannot be
// converted becomes U+FFFD, so the decoder has no error to report.
func fromUTF16(src []byte) []byte {
	decoded, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(src)
	if err != nil {
		return nil
	}
	return decoded
}

// firstInvalid returns the offset of the first byte that is not UTF-8, or -1.
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
