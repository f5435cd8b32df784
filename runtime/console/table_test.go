package console

import (
	"bytes"
	"fmt"
	"testing"
)

func TestATableColoursStatesAndKeepsItsColumns(t *testing.T) {
	var out bytes.Buffer
	table := NewTable(&out)
	fmt.Fprintf(table, "ID\tSTATE\tTITLE\n1\tfailed\tit failed\n2\tlanded\topen the failed\n3\topen, agent finished\tx\n4\trunning\n")
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	plain := "ID  STATE                 TITLE\n1   failed                it failed\n2   landed                open the failed\n3   open, agent finished  x\n4   running\n"
	if out.String() != plain {
		t.Errorf("in a pipe the table is\n%s\nwant\n%s", &out, plain)
	}
	want := "\x1b[1mID  STATE                 TITLE\x1b[0m\n1   \x1b[31mfailed\x1b[0m                it failed\n2   landed                open the failed\n" +
		"3   \x1b[33mopen, agent finished\x1b[0m  x\n4   \x1b[32mrunning\x1b[0m\n"
	if got := string(Paint{true, true}.rows([]byte(plain))); got != want {
		t.Errorf("on a terminal the table is\n%q\nwant\n%q", got, want)
	}
	if got := string(Paint{true, false}.rows([]byte(plain))); got != plain {
		t.Errorf("without colours the table is %q", got)
	}
}
