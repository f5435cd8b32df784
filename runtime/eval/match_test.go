package eval

import "testing"

func TestEntryIsCovered(t *testing.T) {
	hit := func(id, heading, breadcrumb string) Hit {
		return Hit{ID: id, Path: "guide/tides.md", Heading: heading, Breadcrumb: breadcrumb}
	}
	at := func(heading string, path ...string) Entry {
		return Entry{Filepath: "guide/tides.md", HasHeading: true, Heading: heading, HeadingPath: path}
	}
	below := func(heading string, path ...string) Entry {
		e := at(heading, path...)
		e.Subtree = true
		return e
	}
	springs := hit("guide/tides.md#tides/springs", "Springs", "Tides > Springs")
	for name, test := range map[string]struct {
		entry Entry
		hit   Hit
		text  string
		want  bool
	}{
		"same heading":                     {at("Springs"), springs, "", true},
		"other heading":                    {at("Neaps"), springs, "", false},
		"other file":                       {Entry{Filepath: "tides.md", HasHeading: true, Heading: "Springs"}, springs, "", false},
		"one of the other files":           {Entry{Filepath: "x.md", AltFilepaths: []string{"guide/tides.md"}, HasHeading: true, Heading: "Springs"}, springs, "", true},
		"path with a leading dot":          {at("Springs"), Hit{ID: "x#y", Path: "./guide/tides.md", Heading: "Springs"}, "", true},
		"whole file":                       {at("Neaps"), hit("guide/tides.md", "Tides", ""), "", true},
		"markup and case aside":            {at("The `High` [water](w.md) &amp; Low"), hit("t#x", "## the **high** water & low ## {#hw}", ""), "", true},
		"white space of any kind":          {at("High water"), hit("t#x", " High\u00a0 water", ""), "", true},
		"full case folding":                {at("STRASSE"), hit("t#x", "Straße", ""), "", true},
		"right parent":                     {at("Springs", "Tides", "Springs"), springs, "", true},
		"wrong parent":                     {at("Springs", "Moons", "Springs"), springs, "## Springs", false},
		"parent unknown":                   {at("Springs", "Moons", "Springs"), hit("t#x", "Springs", "Springs"), "", true},
		"parent two up is not the parent":  {at("C", "A", "B", "C"), hit("t#x", "C", "A > C"), "", false},
		"heading line in the text":         {at("Neaps"), springs, "# Springs\n\n### Neaps ###\nlow", true},
		"heading line in a fence":          {at("Neaps"), springs, "```\n## Neaps\n```", false},
		"heading line behind a fence":      {at("Neaps"), springs, "~~~\nx\n~~~\n## Neaps", true},
		"indented code is no heading":      {at("Neaps"), springs, "    ## Neaps", false},
		"seven hashes are no heading":      {at("Neaps"), springs, "####### Neaps", false},
		"below it, without subtree":        {at("Tides"), springs, "", false},
		"below it, with subtree":           {below("Tides"), springs, "", true},
		"below it, breadcrumb with arrows": {below("Tides"), hit("t#x", "Springs", "Tides » Springs"), "", true},
		"below another of that name":       {below("Tides", "Sea", "Tides"), springs, "", false},
		"preamble by id":                   {at(""), hit("guide/tides.md#_preamble", "Whatever", "A > Whatever"), "", true},
		"preamble without heading":         {at(""), hit("guide/tides.md#x", "", ""), "", true},
		"preamble under the page title":    {at(""), hit("guide/tides.md#all-about", "All about tides", "All about tides"), "", true},
		"preamble under the file name":     {at(""), hit("guide/tides.md#tides", "Tides", "Tides"), "", true},
		"title further down":               {at(""), hit("guide/tides.md#x/tides", "Tides", "X > Tides"), "", false},
		"a section is no preamble":         {at(""), springs, "", false},
		"any chunk of the file":            {below(""), springs, "", true},
		"file alone":                       {Entry{Filepath: "guide/tides.md"}, springs, "", true},
		"slug of the heading":              {Entry{Filepath: "guide/tides.md", Slug: "springs"}, springs, "", true},
		"slug in the breadcrumb":           {Entry{Filepath: "guide/tides.md", Slug: "tides"}, springs, "", true},
		"slug in the id":                   {Entry{Filepath: "guide/tides.md", Slug: "moon-rise"}, hit("guide/tides.md#moon-rise/x", "", ""), "", true},
		"slug of a repeated heading":       {Entry{Filepath: "guide/tides.md", Slug: "moon"}, hit("guide/tides.md#moon-2", "", ""), "", true},
		"slug of a part":                   {Entry{Filepath: "guide/tides.md", Slug: "moon"}, hit("guide/tides.md#moon-part-3", "", ""), "", true},
		"slug of something longer":         {Entry{Filepath: "guide/tides.md", Slug: "moon"}, hit("guide/tides.md#moon-rise", "", ""), "", false},
		"text, white space aside":          {Entry{Filepath: "guide/tides.md", Contains: "every  12 hours"}, springs, "rises every\n12 hours.", true},
		"text that is not there":           {Entry{Filepath: "guide/tides.md", Contains: "every 6 hours"}, springs, "rises every 12 hours.", false},
		"chunk":                            {Entry{ChunkID: "guide/tides.md#tides/springs"}, springs, "", true},
		"other chunk":                      {Entry{ChunkID: "guide/tides.md#tides"}, springs, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			target := newTarget(test.entry, func(string) string { return "All about tides" })
			place := newPlace(test.hit, func(string) string { return test.text })
			if got := target.coveredBy(place); got != test.want {
				t.Errorf("%+v covered by %+v with text %q = %v, want %v", test.entry, test.hit, test.text, got, test.want)
			}
		})
	}
}

func TestTextIsFetchedOnlyWhereItDecides(t *testing.T) {
	fetched := 0
	text := func(string) string { fetched++; return "" }
	c := Case{Expected: []Entry{entry("a.md", "One", 3), entry("a.md", "Two", 3)}}
	j := newJudge(c, Options{}.withDefaults())
	j.add([]Hit{sectionHit("b.md", "One"), {ID: "a.md", Path: "a.md"}, sectionHit("a.md", "One")}, text)
	if fetched != 0 {
		t.Errorf("text fetched %d times for hits that path, id or heading decide, want 0", fetched)
	}
	j = newJudge(c, Options{}.withDefaults())
	j.add([]Hit{sectionHit("a.md", "Three")}, text)
	if fetched != 1 {
		t.Errorf("text fetched %d times for two undecided entries, want once", fetched)
	}
}
