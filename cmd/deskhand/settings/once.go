package settings

import (
	"errors"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/fault"
)

// once is the value of a flag that is given at most once. Without it, the last of two
// values would count and the first be forgotten.
type once struct {
	pflag.Value
	given bool
}

// errTwice is the error of a flag that is given again.
var errTwice = errors.New("given twice")

// Set implements [pflag.Value].
func (o *once) Set(text string) error {
	if o.given && !Completing() {
		return errTwice
	}
	o.given = true
	return o.Value.Set(text)
}

// Completing reports whether this process completes a command line for a shell. For that,
// all flags are parsed twice.
func Completing() bool {
	return len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "__complete")
}

// Once lets each flag that has a single value be given only once.
func Once(f *pflag.FlagSet) {
	f.VisitAll(func(f *pflag.Flag) {
		_, list := f.Value.(pflag.SliceValue)
		kind := f.Value.Type()
		list = list || kind == "count" || kind == "stringArray" || strings.HasPrefix(kind, "stringTo")
		if _, already := f.Value.(*once); !already && !list {
			f.Value = &once{Value: f.Value}
		}
	})
}

// Twice returns the error of a flag that was given again, or nil if e is another error.
func Twice(e *pflag.InvalidValueError) error {
	if !errors.Is(e, errTwice) {
		return nil
	}
	name := e.GetFlag().Name
	hint := "leave one of them out"
	switch {
	case name == "index":
		hint = "a server and a search have one index; put several libraries on a shelf with \"deskhand add SOURCE\""
	case e.GetFlag().Value.Type() != "bool":
		hint = "leave out " + e.GetFlag().Value.String() + " or " + e.GetValue()
	}
	return fault.Misuse("--"+name+" is given twice", hint)
}
