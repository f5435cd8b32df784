package clients

// Called returns the name of the tool that a client calls by the name that some
// client is told; any other name as it is.
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
