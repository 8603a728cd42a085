"""Charts of a study: ``info`` computes plain rows, ``render`` draws them."""
