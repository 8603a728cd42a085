"""Charts of the page: rows of numbers, and how Vega-Lite draws them in a palette of their own."""
