package logs

import (
	"strings"
	"testing"
)

func TestFindsWhatNobodyShouldCommit(t *testing.T) {
	r := NewRedactor([]string{"hunter2-hunter2", "short"})
	for text, want := range map[string]string{
		"key = hunter2-hunter2":                            "the value of a secret",
		"a short text":                                     "",
		"aws = AKIA" + strings.Repeat("Q", 16):             "AWS",
		"aws = AKIAIOSFODNN7EXAMPLE":                       "",
		"data:AAAAAKIA" + strings.Repeat("Q", 16):          "",
		"token: ghp_" + strings.Repeat("a", 36):            "GitHub",
		"sk_live_" + strings.Repeat("4", 24):               "Stripe",
		"-----BEGIN RSA PRIVATE KEY-----":                  "a private key",
		"Authorization: Bearer " + strings.Repeat("a", 30): "",
		"npm_" + strings.Repeat("Z", 36):                   "npm",
		"sk-ant-" + strings.Repeat("x", 24):                "Anthropic",
		"risk-taking-and-more-words-of-the-same-sentence":  "",
	} {
		if got := r.Finds([]byte(text)); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("Finds(%q) = %q, want %q", text, got, want)
		}
	}
	var none *Redactor
	if got := none.Finds([]byte("ghp_" + strings.Repeat("a", 36))); got == "" {
		t.Error("Finds without values finds no shape")
	}
}
