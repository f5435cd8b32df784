package main

import (
	"context"
)

// explainTools prints the tools and instructions that the server described by f would
// send to a model. It does not start the server.
func (a *app) explainTools(ctx context.Context, f *serveFlags) error {
	log, err := a.settings.Logger(a.Stderr)
	if err != nil {
		return err
	}
	groups, err := a.settings.Groups()
	if err != nil {
		return err
	}
	catalog, end, err := a.installation(log).Offered(ctx, groups, here())
	if err != nil {
		return err
	}
	defer end()
	return a.Catalog(catalog, f.asJSON)
}
