package chunker

import "bytes"

// scanBlockBytes is the size from which a blank line ends a block in a scan.
// Blocks serve only as places to cut.
const scanBlockBytes = 1 << 10

// scanLines is the outline of a body that is not parsed: headings are lines
// with up to six # outside code fences, the rest is text.
func (o *outline) scanLines() {
	fence := ""
	open := false // the last block goes on
	for at := 0; at < len(o.body); {
		line, _, _ := bytes.Cut(o.body[at:], newline)
		start := at
		at += len(line) + 1
		indented := bytes.TrimLeft(line, " ")
		blank := len(bytes.TrimSpace(line)) == 0
		if len(line)-len(indented) < 4 && !blank {
			fence = nextFence(fence, indented)
			if level, text := atxHeading(indented); level > 0 && fence == "" && !o.full {
				o.blocks = append(o.blocks, block{start: start})
				o.addHeading(start, level, string(text), string(text))
				open = false
				continue
			}
		}
		if !open && !blank {
			o.blocks = append(o.blocks, block{start: start})
			open = true
		}
		if blank && open && start-o.blocks[len(o.blocks)-1].start >= scanBlockBytes {
			open = false
		}
	}
}

// nextFence returns the code fence in force after line: fence itself, a new
// one, or none. A fence is closed by one of the same character that is at least
// as long and has nothing behind it.
func nextFence(fence string, line []byte) string {
	run := 0
	for run < len(line) && line[run] == line[0] && (line[0] == '`' || line[0] == '~') {
		run++
	}
	rest := bytes.TrimSpace(line[run:])
	switch {
	case run < 3:
		return fence
	case fence == "":
		if line[0] == '`' && bytes.IndexByte(rest, '`') >= 0 {
			return "" // a code span
		}
		return string(line[:run])
	case line[0] == fence[0] && run >= len(fence) && len(rest) == 0:
		return ""
	}
	return fence
}

// atxHeading returns the level and text of a line that is a heading, else 0.
func atxHeading(line []byte) (level int, text []byte) {
	for level < len(line) && line[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || level < len(line) && line[level] != ' ' && line[level] != '\t' {
		return 0, nil
	}
	text = bytes.TrimSpace(line[level:])
	if closing := bytes.TrimRight(text, "#"); len(closing) == 0 || closing[len(closing)-1] == ' ' {
		text = bytes.TrimSpace(closing)
	}
	return level, text
}
