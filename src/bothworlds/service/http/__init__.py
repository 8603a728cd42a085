"""The service over HTTP: the same hub, for every language."""
