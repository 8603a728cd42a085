"""The numbers of a study: DataFrames, statistics, scores, bounds, rows of charts. Nothing here is drawn."""
