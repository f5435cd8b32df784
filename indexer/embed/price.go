package embed

// PricesOf is the date of the list prices below.
const PricesOf = "April 2026"

// prices holds list prices in US dollars per million tokens. The costs of other models
// cannot be estimated.
var prices = map[string]float64{
	"openai:text-embedding-3-small":        0.02,
	"openai:text-embedding-3-large":        0.13,
	"openai:text-embedding-ada-002":        0.10,
	"mistral:mistral-embed":                0.10,
	"cohere:embed-v4.0":                    0.12,
	"cohere:embed-english-v3.0":            0.10,
	"cohere:embed-multilingual-v3.0":       0.10,
	"cohere:embed-english-light-v3.0":      0.10,
	"cohere:embed-multilingual-light-v3.0": 0.10,
}
