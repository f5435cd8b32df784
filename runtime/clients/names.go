package clients

// Called returns the tool's real name if name is a name from [Client.Renames],
// and otherwise returns name unchanged.
func Called(name string) string {
	for _, c := range known {
		for tool, listed := range c.Renames {
			if listed == name {
				return tool
			}
		}
	}
	return name
}
