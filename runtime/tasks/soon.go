package tasks

import "context"

// Executors are the agents that are known here, installed or not.
func (m *Manager) Executors(ctx context.Context) ([]Executor, error) {
	return []Executor{{ID: "fake", Protocol: "fake", MCP: true, FollowUp: true, Variants: []string{"slow"}}}, nil
}
