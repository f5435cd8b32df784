package embed

// Usage counts what a remote embedder has used. The zero value means no usage.
type Usage struct {
	// Cached counts the vectors that were found in the cache. Made counts the
	// vectors that were requested.
	Cached int `json:"cached"`
	Made   int `json:"made"`
	// Requests counts all requests, including failed ones.
	Requests int `json:"requests"`
	// Tokens is the number of tokens that the provider counted. If the provider reports
	// no number, Tokens is estimated at 4 bytes per token, and Estimated is true.
	Tokens    int64 `json:"tokens"`
	Estimated bool  `json:"tokens_estimated"`
	// CostUSD is the cost of Tokens at list prices (see PricesOf), or nil if the
	// price is unknown.
	CostUSD *float64 `json:"cost_usd"`
	// CacheProblem is the reason why vectors could not be cached, or empty if there was
	// no problem.
	CacheProblem string `json:"cache_problem,omitempty"`
}

// Meter is an Embedder that counts its usage.
type Meter interface {
	// Usage returns the usage so far. It may be called at any time.
	Usage() Usage
}

// Since returns the difference between u and the earlier usage in before.
func (u Usage) Since(before Usage) Usage {
	u.Cached -= before.Cached
	u.Made -= before.Made
	u.Requests -= before.Requests
	u.Tokens -= before.Tokens
	if u.CostUSD != nil && before.CostUSD != nil {
		cost := *u.CostUSD - *before.CostUSD
		u.CostUSD = &cost
	}
	return u
}
