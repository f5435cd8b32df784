package artifact

import (
	"bytes"
	"slices"
)

// canonicalDigest returns what digestOf returns as the digest of a metadata.json, but
// takes a tenth of its time. It reads only text that Encode may have written: for text
// that anything else changed, for example an escape, the result is another digest or "".
// description replaces corpus_description.
func canonicalDigest(text []byte, description string) string {
	c := canonical{text: text, out: make([]byte, 0, len(text))}
	c.space()
	if !c.object(func(key []byte) (skip bool, replacement string) {
		switch string(key) {
		case `"digest"`:
			return true, ""
		case `"corpus_description"`:
			return false, description
		}
		return false, ""
	}) {
		return ""
	}
	return hexSum(c.out)
}

// canonical copies JSON without white space and with sorted members. The text is valid
// JSON, because it was decoded before.
type canonical struct {
	text []byte
	at   int
	out  []byte
}

func (c *canonical) space() {
	for c.at < len(c.text) && (c.text[c.at] == ' ' || c.text[c.at] == '\n' || c.text[c.at] == '\r' || c.text[c.at] == '\t') {
		c.at++
	}
}

// next skips white space, and returns the byte after it, or 0 at the end.
func (c *canonical) next() byte {
	c.space()
	if c.at == len(c.text) {
		return 0
	}
	return c.text[c.at]
}

// member is a member of an object: its key with the quotes, and where its value begins.
type member struct {
	key   []byte
	value int
}

// object copies the object at the current place. If edit is not nil, it decides for each
// key whether the member is left out, or which string replaces its string value.
func (c *canonical) object(edit func(key []byte) (skip bool, replacement string)) bool {
	if c.next() != '{' {
		return false
	}
	c.at++
	var room [32]member
	members := room[:0]
	for c.next() == '"' {
		from := c.at
		c.skipString()
		m := member{key: c.text[from:c.at]}
		if c.next() != ':' {
			return false
		}
		c.at++
		c.space()
		m.value = c.at
		c.skip()
		members = append(members, m)
		if c.next() == ',' {
			c.at++
		}
	}
	if c.next() != '}' {
		return false
	}
	end := c.at + 1
	slices.SortFunc(members, func(x, y member) int { return bytes.Compare(x.key[1:len(x.key)-1], y.key[1:len(y.key)-1]) })
	c.out = append(c.out, '{')
	for _, m := range members {
		skip, replacement := false, ""
		if edit != nil {
			skip, replacement = edit(m.key)
		}
		if skip {
			continue
		}
		if c.out[len(c.out)-1] != '{' {
			c.out = append(c.out, ',')
		}
		c.out = append(append(c.out, m.key...), ':')
		if c.at = m.value; replacement != "" && c.next() == '"' {
			c.out = append(append(append(c.out, '"'), replacement...), '"')
		} else if !c.value() {
			return false
		}
	}
	c.out = append(c.out, '}')
	c.at = end
	return true
}

// value copies the value at the current place.
func (c *canonical) value() bool {
	switch c.next() {
	case 0:
		return false
	case '{':
		return c.object(nil)
	case '[':
		c.at++
		c.out = append(c.out, '[')
		for c.next() != ']' {
			if c.out[len(c.out)-1] != '[' {
				c.out = append(c.out, ',')
			}
			if !c.value() {
				return false
			}
			if c.next() == ',' {
				c.at++
			}
		}
		c.at++
		c.out = append(c.out, ']')
		return true
	}
	from := c.at
	c.skip()
	c.out = append(c.out, c.text[from:c.at]...)
	return c.at > from
}

// skip skips the value at the current place.
func (c *canonical) skip() {
	depth := 0
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case '"':
			c.skipString()
			if depth == 0 {
				return
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return // behind a number
			}
			if depth--; depth == 0 {
				c.at++
				return
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return
			}
		}
		c.at++
	}
}

// skipString skips the string at the current place.
func (c *canonical) skipString() {
	for c.at++; c.at < len(c.text); c.at++ {
		switch c.text[c.at] {
		case '\\':
			c.at++
		case '"':
			c.at++
			return
		}
	}
	c.at = len(c.text)
}
