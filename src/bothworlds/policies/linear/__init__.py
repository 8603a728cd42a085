"""Linear bandits: arms with features, of which the loss is a linear function."""
