package main

import (
	"fmt"
	"strings"
	"testing"
)

// stream is what go test -json prints of tests: "TestName pass output".
func stream(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		name, rest, _ := strings.Cut(l, " ")
		action, output, _ := strings.Cut(rest, " ")
		fmt.Fprintf(&b, `{"Action":"run","Package":"p","Test":%q}`+"\n", name)
		if output != "" {
			fmt.Fprintf(&b, `{"Action":"output","Package":"p","Test":%q,"Output":%q}`+"\n", name, "    a_test.go:7: "+output+"\n")
		}
		if action != "" {
			fmt.Fprintf(&b, `{"Action":%q,"Package":"p","Test":%q}`+"\n", action, name)
		}
	}
	return b.String()
}

var whole = []string{
	"TestAttackApprovalsA pass", "TestAttackApprovalsA/one pass", "TestAttackApprovalsA/two pass", "TestAttackWorkB pass", "TestAttackStarterC pass",
	"TestAttackBoxD pass", "TestAttackBoxD/net skip bubblewrap is not installed", "TestAttackDoorsE pass",
}

func TestTheTable(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		code   int
		says   []string
	}{
		"all held": {stream(whole...), 0, []string{"1 approvals that show the truth  2      2     0", "  TestAttackBoxD                 0      0     1",
			"all                              5      5     1", "not tried: TestAttackBoxD/net: bubblewrap is not installed"}},
		"one did not hold":               {stream(append(whole, "TestAttackDoorsE/token fail it was taken")...), 1, []string{"TestAttackDoorsE/token in p did not hold:\n    a_test.go:7: it was taken", "5 doors                          1      0     0"}},
		"one panicked":                   {stream(append(whole, "TestAttackDoorsE/token  panic: nil map")...), 1, []string{"TestAttackDoorsE/token in p did not hold"}},
		"an empty section":               {stream(whole[:6]...), 1, []string{"section 5, doors, has no test: name one TestAttackDoors..."}},
		"nothing":                        {"", 1, []string{"section 1, approvals that show the truth, has no test"}},
		"does not compile":               {stream(whole...) + `{"ImportPath":"q","Action":"build-output","Output":"a.go:1: syntax error\n"}` + "\n" + `{"ImportPath":"q","Action":"build-fail"}` + "\n", 1, []string{"q did not run:\na.go:1: syntax error"}},
		"a package that fails by itself": {stream(whole...) + `{"Action":"output","Package":"p","Output":"exit status 2\n"}` + "\n" + `{"Action":"fail","Package":"p"}` + "\n", 1, []string{"p did not run:\nexit status 2"}},
		"no JSON":                        {stream(whole...) + "go: cannot find main module\n", 1, []string{"go: cannot find main module"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if code := run(strings.NewReader(c.stream), &out); code != c.code {
				t.Errorf("exit %d, want %d\n%s", code, c.code, out.String())
			}
			for _, want := range c.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, out.String())
				}
			}
		})
	}
}
