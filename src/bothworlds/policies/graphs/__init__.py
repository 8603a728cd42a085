"""Policies that are shown the losses of several arms in a round: the graph, and three that learn on it."""
