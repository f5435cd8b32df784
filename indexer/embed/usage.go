package embed

// Usage is what an embedder behind a network did. The zero value is nothing.
type Usage struct {
	// Cached vectors were there from earlier, Made ones were asked for.
	Cached int `json:"cached"`
	Made   int `json:"made"`
	// Requests are all that were sent, the ones that failed among them.
	Requests int `json:"requests"`
	// Tokens are those that the provider counted. Where it says nothing they are
	// estimated at 4 bytes each, and Estimated is set.
	Tokens    int64 `json:"tokens"`
	Estimated bool  `json:"tokens_estimated"`
	// CostUSD is the list price of Tokens (see PricesOf); nil: not known.
	CostUSD *float64 `json:"cost_usd"`
	// CacheProblem is why vectors could not be kept; empty: they were.
	CacheProblem string `json:"cache_problem,omitempty"`
}

// Meter is an Embedder that counts what it does.
type Meter interface {
	// Usage is what it did so far. It may be called at any time.
	Usage() Usage
}

// Since is what was done after before.
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
