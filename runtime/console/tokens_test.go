package console

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// testdata/tokens.json has texts that models read of our tools, and how many
// tokens js-tiktoken 1.0.21 counts in each with o200k_base.
func TestTokensAreNearWhatTheTokenizerCounts(t *testing.T) {
	b, err := os.ReadFile("testdata/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var counted []struct {
		Name, Text string
		Tokens     int
	}
	if err := json.Unmarshal(b, &counted); err != nil || len(counted) < 20 {
		t.Fatalf("%d texts, %v", len(counted), err)
	}
	all, estimated := 0, 0
	for _, c := range counted {
		got := Tokens(c.Text)
		all, estimated = all+c.Tokens, estimated+got
		if off := float64(got-c.Tokens) / float64(c.Tokens); math.Abs(off) > 0.1 {
			t.Errorf("%s: %d tokens, estimated %d, %+.0f %%", c.Name, c.Tokens, got, 100*off)
		} else {
			t.Logf("%s: %d tokens, estimated %d, %+.0f %%", c.Name, c.Tokens, got, 100*off)
		}
	}
	t.Logf("all: %d tokens, estimated %d", all, estimated)
}
