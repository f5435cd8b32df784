package main

import (
	"os"
	"strings"
	"testing"
)

// A test is a Go program too, with the modules that it was built from.
func TestBillOfAProgram(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := read(own)
	if err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.Spec != "1.6" || b.Metadata.Component.Type != "application" || len(b.Metadata.Component.Hashes[0].Content) != 64 {
		t.Errorf("bill = %+v", b)
	}
	if len(b.Components) == 0 || b.Components[0].Name != "std" || !strings.HasPrefix(b.Components[0].PURL, "pkg:golang/std@1.") {
		t.Errorf("components = %+v", b.Components)
	}
	if len(b.Dependencies[0].DependsOn) != len(b.Components) {
		t.Errorf("the program depends on %d of %d components", len(b.Dependencies[0].DependsOn), len(b.Components))
	}
	if _, err := read("main.go"); err == nil {
		t.Error("a text has a bill")
	}
}
