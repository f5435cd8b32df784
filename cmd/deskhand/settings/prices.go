package settings

import "github.com/deskhand/deskhand/runtime/usage"

// Prices returns the prices of models: the built-in ones with those of the setting.
func (s *Settings) Prices() (usage.Table, error) {
	changes := map[string]string{}
	if err := s.tree("prices", &changes); err != nil {
		return nil, err
	}
	return usage.NewTable(changes)
}

// pricesValid checks the prices.
func pricesValid(s *Settings, _ string) error {
	_, err := s.Prices()
	return err
}
