package indexer

import (
	"context"
	"encoding/binary"
	"hash"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/formats"
)

// convert adds pages that are converted from files in other formats. If a Markdown
// page has the same path, the converted page is dropped.
func (b *build) convert(ctx context.Context, f *found) error {
	if len(f.others) == 0 {
		b.report.LeftOut = f.leftOut()
		return nil
	}
	b.phase("convert")
	b.progress("convert", 0, len(f.others))
	files := make([]formats.File, len(f.others))
	manifests := make(map[string]*manifest, len(f.others))
	for i, p := range f.others {
		files[i] = formats.File{Path: p.path, Open: p.open}
		manifests[p.path] = p.manifest
	}
	made, err := b.options.Formats.Convert(ctx, files, func(done, total int) { b.progress("convert", done, total) })
	if err != nil {
		return err
	}
	for _, p := range made.Problems {
		b.note([]Problem{{p.File, p.Line, p.Reason}})
	}
	b.report.LeftOut = made.Left
	known := make(map[string]bool, len(f.pages))
	for _, p := range f.pages {
		known[p.path] = true
	}
	for _, p := range made.Pages {
		if !known[p.Path] {
			known[p.Path] = true
			f.pages = append(f.pages, &page{path: p.Path, open: p.Open, manifest: manifests[p.File], converted: true, lines: p.Lines})
		}
	}
	slices.SortFunc(f.pages, func(a, b *page) int { return strings.Compare(a.path, b.path) })
	return nil
}

// digestLines adds the line numbers in the source to a digest.
func digestLines(h hash.Hash, lines []int) {
	for _, n := range lines {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], uint32(n))
		h.Write(b[:])
	}
}

// inSource changes the line numbers of a converted page's chunks to lines in the source
// file. A chunk extends from its first known line to its last. If no line is known,
// both numbers are 0.
func (p *page) inSource(cut *chunker.Page) {
	if !p.converted {
		return
	}
	for i := range cut.Chunks {
		c := &cut.Chunks[i]
		first, last := 0, 0
		for _, line := range p.lines[min(c.StartLine-1, len(p.lines)):min(c.EndLine, len(p.lines))] {
			if line > 0 {
				last = max(last, line)
				if first == 0 || line < first {
					first = line
				}
			}
		}
		c.StartLine, c.EndLine = first, last
	}
	for i := range cut.Problems {
		line := 0
		if n := cut.Problems[i].Line; n > 0 && n <= len(p.lines) {
			line = p.lines[n-1]
		}
		cut.Problems[i].Line = line
	}
}
