package app

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web"
)

// usageSamples returns what agents consumed, for /metrics.
func (a *App) usageSamples() (list []web.Sample) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	m, err := a.Work(ctx)
	if err != nil {
		return nil
	}
	agents, _, err := m.Usage(ctx, tasks.UsageQuery{By: tasks.UsageByAgent})
	if err != nil {
		a.log.Warn("cannot read usage for /metrics", "error", err)
	}
	for _, g := range agents {
		of := func(label, value string) map[string]string { return map[string]string{"agent": g.Key, label: value} }
		for kind, n := range map[string]int64{"input": g.TokensIn, "output": g.TokensOut, "cache_read": g.CacheRead, "cache_write": g.CacheWrite} {
			list = append(list, web.Sample{Name: "deskhand_agent_tokens_total", Help: "Tokens that agents report, by kind. The cache is part of the input.",
				Labels: of("kind", kind), Value: float64(n)})
		}
		for reported, n := range map[string]int{"all": g.Runs - g.Silent - g.Partial, "some": g.Partial, "none": g.Silent} {
			list = append(list, web.Sample{Name: "deskhand_agent_runs_total", Help: "Runs of agents, by how many of their tokens they report.",
				Labels: of("reported", reported), Value: float64(n)})
		}
		list = append(list, web.Sample{Name: "deskhand_agent_cost_dollars_total", Help: "Known cost of agents in US dollars.",
			Labels: map[string]string{"agent": g.Key}, Value: float64(g.Cost) / 1e6})
	}
	return list
}
