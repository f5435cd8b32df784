package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSignatureSaysWhatACallNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		detail detail
		want   string
	}{
		"required ones come first":  {`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"]}`, types, `{a: string, b?: integer}`},
		"nothing":                   {`{"type":"object"}`, types, `{}`},
		"values of an enum":         {`{"type":"object","properties":{"s":{"enum":["open","closed",1,null]}}}`, types, `{s?: "open"|"closed"|1|null}`},
		"lists of objects":          {`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}}}}`, types, `{l?: {x: number}[]}`},
		"lists of either":           {`{"type":"object","properties":{"l":{"type":"array","items":{"type":["string","null"]}}}}`, types, `{l?: (string|null)[]}`},
		"a reference":               {`{"type":"object","properties":{"o":{"$ref":"#/$defs/o"}},"$defs":{"o":{"type":"object","properties":{"x":{"const":"y"}}}}}`, types, `{o?: {x?: "y"}}`},
		"one that leads nowhere":    {`{"type":"object","properties":{"o":{"$ref":"https://example.com/o"}}}`, types, `{o?: any}`},
		"either of two":             {`{"type":"object","properties":{"o":{"anyOf":[{"type":"string"},{"type":"string"},{"type":"null"}]}}}`, types, `{o?: string|null}`},
		"notes":                     {`{"type":"object","properties":{"a":{"type":"string","description":"who\n is asked"}}}`, notes, "{a?: string}\n  a: who is asked"},
		"the essentials":            {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"x":{}}},"c":{"type":"string"}},"required":["a","b"]}`, essentials, `{a: string, b: object, c?}`},
		"names only":                {`{"type":"object","properties":{"a":{"type":"string"}}}`, namesOnly, ``},
		"properties are no object":  {`{"type":"object","properties":[]}`, types, `{}`},
		"required is no list":       {`{"type":"object","properties":{"a":{}},"required":true}`, types, `{a?: any}`},
		"boolean schemas":           {`{"type":"object","properties":{"a":true}}`, types, `{a?: any}`},
		"long enums":                {`{"type":"object","properties":{"a":{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13,14]}}}`, types, `{a?: 1|2|3|4|5|6|7|8|9|10|11|12|... 2 more}`},
		"long enums, when whole":    {`{"type":"object","properties":{"a":{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13]}}}`, whole, `{a?: 1|2|3|4|5|6|7|8|9|10|11|12|13}`},
		"a schema that has no ends": {`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"$ref":"#/$defs/n"}}}`, types, `{a?: any}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := signature(json.RawMessage(c.schema), c.detail); got != c.want {
				t.Errorf("signature(%s) = %q, want %q", c.schema, got, c.want)
			}
		})
	}
}

func TestSignatureOfASchemaThatContainsItselfEnds(t *testing.T) {
	schema := `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"l":{"$ref":"#/$defs/n"},"r":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/n"},{"$ref":"#"}]}}}}}}`
	if got := signature(json.RawMessage(schema), whole); len(got) > 4000 || !strings.HasPrefix(got, "{n?: {l?:") {
		t.Errorf("signature has %d bytes: %.200s", len(got), got)
	}
}

func TestSignatureOfManyThatReferToEachOtherEndsSoon(t *testing.T) {
	var either, defs []string
	for i := range 30 {
		either = append(either, fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i))
	}
	for i := range 30 {
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{"p%d":{"anyOf":[%s]}}}`, i, i, strings.Join(either, ",")))
	}
	schema := `{"type":"object","properties":{"a":{"anyOf":[` + strings.Join(either, ",") + `]}},"$defs":{` + strings.Join(defs, ",") + `}}`
	began := time.Now()
	signature(json.RawMessage(schema), types)
	if took := time.Since(began); took > 20*time.Second { // without a bound, 30^6 values take many minutes
		t.Errorf("signature took %v", took)
	}
}

// An upstream may send anything as a schema.
func FuzzSignature(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"}],"items":{"enum":[]}}},"required":["a"]}`)
	f.Fuzz(func(t *testing.T, schema string) {
		for d := namesOnly; d < details; d++ {
			signature(json.RawMessage(schema), d)
		}
	})
}
