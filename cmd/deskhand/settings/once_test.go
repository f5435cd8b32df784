package settings

import (
	"testing"

	"github.com/spf13/pflag"
)

// list is a flag that can be given several times and is no slice of the library's.
type list []string

func (l *list) Set(text string) error { *l = append(*l, text); return nil }
func (l *list) Type() string          { return "stringArray" }
func (l *list) String() string        { return "" }

func TestOnlyListsMayBeGivenAgain(t *testing.T) {
	var own list
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Var(&own, "project", "")
	f.String("state", "", "")
	Once(f)
	if err := f.Parse([]string{"--project", "a", "--project", "b"}); err != nil || len(own) != 2 {
		t.Errorf("a list = %v, %v", own, err)
	}
	if err := f.Parse([]string{"--state", "a", "--state", "b"}); err == nil {
		t.Error("--state was given twice without an error")
	}
}
