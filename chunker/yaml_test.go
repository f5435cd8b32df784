package chunker

import (
	"fmt"
	"strings"
	"testing"
)

func TestDecodeYAMLNamesTheLineOfEachMistake(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"none":          {"a: b\n", ""},
		"empty":         {"", ""},
		"a tab":         {"a: b\nc: d\n\te: f\n", "3: found a tab character that violates indentation"},
		"no line given": {"a: b\nc: \x01\n", "2: control characters are not allowed"},
		"types":         {"a: [b]\nn: x\n", "1: cannot unmarshal !!seq into string|2: cannot unmarshal !!str `x` into int"},
		"long":          {strings.Repeat("# c\n", 300) + "a: b: c\n", "301: mapping values are not allowed in this context"},
	} {
		t.Run(name, func(t *testing.T) {
			var v struct {
				A string
				N int
			}
			var got []string
			for _, p := range DecodeYAML([]byte(c.src), &v) {
				got = append(got, fmt.Sprintf("%d: %s", p.Line, p.Reason))
			}
			if strings.Join(got, "|") != c.want {
				t.Errorf("DecodeYAML(%.40q) = %q, want %q", c.src, got, c.want)
			}
		})
	}
}
