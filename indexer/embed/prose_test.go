package embed

import "testing"

func TestProseIsCountedInWords(t *testing.T) {
	for text, want := range map[string]int{
		"":                                 0,
		" \n\t":                            0,
		"Roll back, now.":                  3,
		"Wait (a while) for it!":           4, // "(a" is none
		"the kubectl command":              3,
		"ConfigMap parseURL snake_case x1": 0,
		"import { Voice } from \"@acme\";": 3,
		"| name | string | 12 |":           2,
		"déjà vu":                          2,
		"重试失败的请求。":                         4,
		"... -- !!!":                       0,
		"API is":                           1,
		"a":                                1,
	} {
		got := 0
		eachProse(text, func(_ string, words int) { got += words })
		if got != want {
			t.Errorf("eachProse(%q) counts %d words, want %d", text, got, want)
		}
	}
}
