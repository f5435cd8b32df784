package executor

import (
	"slices"
	"testing"
)

func TestWhatIsPassedToAnAgentIsASecretUnlessItIsOrdinary(t *testing.T) {
	for name, values := range map[string][]string{
		"DATABASE": {"postgres://ann:pw@db/shop", "https://hooks.example.com/x?sig=1", "correct horse battery", "s3cret-value-123", "Tr0ub4dor&3", "/x:hunter2hunter2", "0123abcd89ef", "ABCDEFGHIJ"},
	} {
		for _, value := range values {
			if ordinary(name, value) {
				t.Errorf("%s=%s is taken for no secret", name, value)
			}
		}
	}
	for name, values := range map[string][]string{
		"PLAIN": {"", "visible", "/var/lib/shop/data", "~/shop/config", "../shop/config", "/usr/bin:/usr/local/bin", `C:\\Users\\ann`, "12345678", "-1234.5678", "1_000_000_000",
			"true", "disabled", "en_US.UTF-8", "sr_RS.UTF-8@latin", "https://api.example.com/v1", "http://127.0.0.1:8080", "production", "--max-old-space-size=4096"},
		"ANTHROPIC_MODEL": {"claude-opus-4-1"}, "TERM": {"xterm-256color"}, "NODE_ENV": {"pre-production"}, "GOFLAGS": {"-mod=vendor -x"}, "TZ": {"America/New_York"},
	} {
		for _, value := range values {
			if !ordinary(name, value) {
				t.Errorf("%s=%s is taken for a secret", name, value)
			}
		}
	}
}

func TestTheSecretsOfAnEnvironmentAreThoseThatAreNotOrdinary(t *testing.T) {
	table, err := New(map[string]Config{"mine": {Kind: "shell", Command: []string{"true"}, Env: map[string]string{"DSN": "ann:pw@db/shop", "DATA": "/var/lib/shop", "API_KEY": "/k"},
		Variants: map[string]Variant{"eu": {Env: map[string]string{"DSN": "eva:pw@db/shop"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	got := table.Secrets("mine")
	slices.Sort(got)
	if want := []string{"/k", "ann:pw@db/shop", "eva:pw@db/shop"}; !slices.Equal(got, want) {
		t.Errorf("Secrets = %q, want %q", got, want)
	}
	_, secrets := Environment([]string{"PATH=/opt/x:relative-one", "DSN=ann:pw@db/shop", "DATA=/var/lib/shop", "OTHER=ann:pw@db/shop2"}, []string{"DSN", "DATA"})
	if want := []string{"ann:pw@db/shop"}; !slices.Equal(secrets, want) {
		t.Errorf("Environment has the secrets %q, want %q", secrets, want)
	}
}
