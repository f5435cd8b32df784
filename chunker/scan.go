package chunker

import "bytes"

// scanBlockBytes is the minimum size of a block in a scan: a blank line ends a
// block only after this many bytes. Blocks serve only as places to split.
const scanBlockBytes = 1 << 10

// scanLines reads the outline of a body that is not parsed. Outside code fences,
// lines that start with one to six # are headings. All other lines are text.
func (o *outline) scanLines() {
	fence := ""
	open := false // the last block continues
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

// nextFence returns the code fence that is open after line, or "" if none is open. It
// is either fence itself or a new one. A closing fence uses the same character, is at
// least as long, and is followed only by white space.
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
			return "" // not a fence but a code span
		}
		return string(line[:run])
	case line[0] == fence[0] && run >= len(fence) && len(rest) == 0:
		return ""
	}
	return fence
}

// atxHeading returns the level and text of a heading line, or level 0 for any other
// line.
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
