"""The FTRL step: regularizers, the solver."""
